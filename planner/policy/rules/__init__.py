"""Pair rules: how the budgets of two levels become the budget of telling them apart.

A rule is an object that answers whatever is asked of it; nothing outside asks which rule it
is. Adding one is a class with ``name`` and ``bounds`` (see
:class:`~planner.policy.rules.rule.PairRule`), which the general solvers take as it is; a faster
way of its own, as the rules min and avg have, is optional.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from planner.errors import InputError
from planner.policy.rules.average import AvgRule
from planner.policy.rules.matrix import MatrixRule
from planner.policy.rules.minimum import MinRule
from planner.policy.rules.rule import HalfLines, PairRule, Reduction, Rows

__all__ = [
    "ALLOWED_RULES",
    "DEFAULT_RULE",
    "AvgRule",
    "HalfLines",
    "MatrixRule",
    "MinRule",
    "PairRule",
    "Reduction",
    "Rows",
    "rule_of",
]

_NAMED: dict[str, PairRule] = {rule.name: rule for rule in (MinRule(), AvgRule())}

DEFAULT_RULE = "min"
ALLOWED_RULES = '"min", "avg" or a matrix of pair budgets'


def rule_of(rule: str | ArrayLike | PairRule, size: int) -> PairRule:
    """The rule called ``rule``, or that of a matrix of pair budgets, for ``size`` levels.

    Raises
    ------
    InputError
        An unknown name, or a matrix that is not ``size x size``, symmetric and in range.

    Examples
    --------
    >>> rule_of("min", 2).name, rule_of([[1, 2], [2, 3]], 2).name
    ('min', 'matrix')
    """
    if isinstance(rule, PairRule):
        rule.check(size)
        return rule
    if isinstance(rule, str):
        if rule not in _NAMED:
            raise InputError("rule", rule, ALLOWED_RULES, f'Leave it out for "{DEFAULT_RULE}".')
        return _NAMED[rule]
    try:
        matrix = np.array(rule)  # a copy: the caller's array stays the caller's
        if matrix.dtype.kind not in "iuf":
            raise TypeError
    except (TypeError, ValueError):
        remedy = "One row per level, as many numbers in each; inf where none is needed."
        raise InputError("rule", rule, "a rectangular list of numbers", remedy) from None
    matrix_rule = MatrixRule(matrix.astype(np.float64))
    matrix_rule.check(size)
    return matrix_rule
