"""A question of a survey, with the privacy levels of its answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from planner import arguments
from planner.errors import InputError
from planner.limits import MAX_PADDING_LENGTH
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.policy.rules import DEFAULT_RULE
from planner.survey.kinds import (
    KINDS,
    KINDS_IN_WORDS,
    ORDINAL,
    USUAL_MECHANISM,
    Level,
    Numeric,
    Sampling,
)
from planner.survey.ordered_answers import (
    MEAN_OF_SCORES,
    SHARES_UP_TO,
    answers_in_order,
    check_ordered,
)
from planner.survey.set_model import AssumedSets, PilotFile
from planner.survey.target import Target, check_targets

CRITERIA = ("total", "minimax")
_MOST_LISTED_LEVELS = 200
Rule = str | tuple[tuple[float, ...], ...]

_NUMBER = re.compile("[0-9]{1,12}")  # no question has more items


@dataclass(frozen=True, slots=True)
class Question:
    """One question and what its answers need.

    Parameters
    ----------
    name:
        Distinct within the survey.
    levels:
        At least one; none for ``"numeric"``.
    rule:
        ``"min"``, ``"avg"`` or a symmetric matrix of pair budgets (see :class:`PrivacyPolicy`).
    kind:
        ``"categorical"``: every person holds exactly one answer.
        ``"item-set"``: every person holds a set of answers, which may be empty.
        ``"sampled-choice"``: one answer or none, asked twice (Sampling Privacy).
        ``"numeric"``: a number or no answer.
        ``"ordinal"``: exactly one answer of 2 to 32 named ones that have an order.
    sampling:
        For ``"sampled-choice"``, and only for it.
    numeric:
        For ``"numeric"``, and only for it.
    padding_length:
        For ``"item-set"``, and only for it: the size to which sets are padded or cut,
        1 to 2^20; ``None`` while it is still to be chosen.
    sets:
        For ``"item-set"``, and only for it: what is known of the sets, a histogram of
        sizes or a pilot; the padding length is planned from it.
    weight:
        Importance of this question's error among the survey's, above 0.
    targets:
        Errors that are small enough. For ``"numeric"`` shares of half the range, without levels.
    criterion:
        ``"total"``: the error of all items together is minimised. ``"minimax"``: that of
        the worst single item.
    mechanism:
        Name of the mechanism that is planned and deployed; which there are for the question says
        :func:`planner.planning.mechanism_choice.mechanism_choices`. The kind's usual one when
        left out: for ``"categorical"`` and ``"item-set"`` it is ``"best"``, whichever has the
        smallest error.
    order:
        For ``"ordinal"``, and only for it: all answers, the lowest first; empty if the levels list
        them in their order, one level after the other.
    scores:
        For ``"ordinal"``, and only for it: what each answer counts for in a mean, in the order of
        the answers; empty if no mean is wanted.
    wanted:
        For ``"ordinal"``, and only for it: of which the total error is made small.
        ``"shares up to"``: of the shares of people up to each answer but the last; ``"counts"``:
        of the number of people with each. The importance of an answer's level is that of its
        share or its count. ``"mean of scores"``: of the mean alone, and nothing else is estimated.

    Raises
    ------
    InputError
        A name, item or number is missing, repeated or out of range.

    Examples
    --------
    >>> levels = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=3))
    >>> Question("diagnosis", levels).policy.item_counts.tolist()
    [1, 3]
    """

    name: str
    levels: tuple[Level, ...]
    rule: Rule = DEFAULT_RULE
    kind: str = "categorical"
    sampling: Sampling | None = None
    numeric: Numeric | None = None
    padding_length: int | None = None
    sets: AssumedSets | PilotFile | None = None
    weight: float = 1.0
    targets: tuple[Target, ...] = ()
    criterion: str = "total"
    mechanism: str = ""
    order: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    wanted: str = SHARES_UP_TO

    def __post_init__(self) -> None:
        require_text("question name", self.name)
        self._check_kind()
        if not isinstance(self.mechanism, str):
            raise InputError(
                "mechanism",
                self.mechanism,
                "the name of a mechanism",
                "Write its name as text, or leave it out for the usual one.",
            )
        object.__setattr__(self, "mechanism", self.mechanism or USUAL_MECHANISM[self.kind])
        if arguments.finite("weight", self.weight) < 0:
            remedy = "Leave it out for a weight of 1."
            raise InputError("weight", self.weight, "a finite number of at least 0", remedy)
        check_targets(self.targets, [level.name for level in self.levels])
        self._check_sampling()
        self._check_padding()
        self._check_order()
        if self.kind == "numeric":
            if self.levels or self.rule != DEFAULT_RULE:
                allowed = "left out, with the rule, for 'numeric'"
                remedy = "A number has one budget, its epsilon."
                raise InputError("levels", self.levels, allowed, remedy)
            return
        home: dict[str, str] = {}
        for level in self.levels:
            for item in level.items:
                require_text(f"item of level {level.name!r}", item)
                if item in home:
                    allowed = f"in one level only; it is in {home[item]!r} already"
                    raise InputError(
                        f"item of level {level.name!r}", item, allowed, "Delete it here or there."
                    )
                home[item] = level.name
        policy = self.policy  # validates names, budgets, counts and rule, once
        _ = self.objective.coefficients(policy)  # and the priors
        _require_no_number_twice(self.levels)
        if self.kind == "item-set" and not policy.rule.covers_sets:
            remedy = "Set budgets (eq. 16 of the IDUE paper) are defined for the rule min alone."
            raise InputError("rule", policy.rule_name, "\"min\" for 'item-set'", remedy)

    def _check_kind(self) -> None:
        if self.kind not in KINDS:
            raise InputError.unknown(
                "kind",
                self.kind,
                KINDS,
                KINDS_IN_WORDS,
            )
        if self.criterion not in CRITERIA:
            remedy = "Leave it out to keep the sum of all errors small."
            raise InputError("criterion", self.criterion, f"one of {', '.join(CRITERIA)}", remedy)
        if (self.kind == "numeric") != (self.numeric is not None):
            allowed = "given" if self.kind == "numeric" else "left out"
            remedy = "Only a question of kind 'numeric' has a range, and it needs one."
            raise InputError("numeric", self.numeric, f"{allowed} for {self.kind!r}", remedy)
        if self.sets is not None and self.kind != "item-set":
            remedy = "Only people who may give several answers have set sizes."
            raise InputError("sets", self.sets, f"left out for {self.kind!r}", remedy)

    def _check_padding(self) -> None:
        length = self.padding_length
        if length is None:
            return
        if self.kind != "item-set":
            remedy = "Only the sets of kind 'item-set' are padded."
            raise InputError("padding_length", length, f"left out for {self.kind!r}", remedy)
        if type(length) is not int or not 1 <= length <= MAX_PADDING_LENGTH:
            allowed = f"a whole number from 1 to {MAX_PADDING_LENGTH}"
            remedy = "Leave it out to have the best one computed."
            raise InputError("padding_length", length, allowed, remedy)

    def _check_order(self) -> None:
        object.__setattr__(self, "order", tuple(self.order))
        object.__setattr__(self, "scores", tuple(map(float, self.scores)))
        if self.kind == ORDINAL:
            check_ordered(self.levels, self.order, self.scores, self.criterion, self.wanted)
            return
        for name, value, usual in (
            ("order", self.order, ()),
            ("scores", self.scores, ()),
            ("wanted", self.wanted, SHARES_UP_TO),
        ):
            if value != usual:
                remedy = "Only the answers of kind 'ordinal' have an order."
                raise InputError(name, value, f"left out for {self.kind!r}", remedy)

    def _check_sampling(self) -> None:
        sampled = self.kind == "sampled-choice"
        if sampled != (self.sampling is not None):
            allowed = "given" if sampled else "left out"
            remedy = "It belongs to the kind 'sampled-choice', which needs it."
            raise InputError("sampling", self.sampling, f"{allowed} for {self.kind!r}", remedy)
        if sampled and self.rule != DEFAULT_RULE:
            remedy = "Sampling Privacy tells two answers apart by the larger of their budgets."
            raise InputError("rule", self.rule, "left out for 'sampled-choice'", remedy)
        for level in self.levels:
            if len(level.yes_counts) != (level.item_count if sampled else 0):
                name = f"yes_counts of level {level.name!r}"
                allowed = "one count per item" if sampled else "left out unless 'sampled-choice'"
                remedy = "Sampling Privacy expects, per value, how many people have it."
                raise InputError(name, level.yes_counts, allowed, remedy)

    @property
    def of_mean(self) -> bool:
        """Whether its error is that of a mean, in a unit of its own."""
        return self.numeric is not None or self.wanted == MEAN_OF_SCORES

    @property
    def radius(self) -> float:
        """Half the range of what a mean is taken of.

        Raises
        ------
        InputError
            It is about no mean.
        """
        if self.numeric is not None:
            return self.numeric.domain.radius
        if not self.scores:
            remedy = "Ask a numeric question, or give ordered answers scores."
            raise InputError("scores", self.scores, "given", remedy)
        return (max(self.scores) - min(self.scores)) / 2

    @property
    def ordered(self) -> tuple[str, ...]:
        """The answers of an ``"ordinal"`` question, the lowest first; of others as listed."""
        return answers_in_order(self.levels, self.order)

    @property
    def objective(self) -> Objective:
        """Worst-case error, the expected one where levels have priors, or the worst item's."""
        importance = [level.importance for level in self.levels]
        weights = None if set(importance) <= {1.0} else importance
        priors = [level.prior for level in self.levels if level.prior is not None]
        if self.criterion == "minimax" and priors:
            remedy = "The error of the worst item does not depend on shares."
            raise InputError("prior", priors, "left out for the criterion 'minimax'", remedy)
        if not priors:
            kind = "minimax" if self.criterion == "minimax" else "worst-case"
            return Objective(kind, weights)
        if len(priors) < len(self.levels):
            allowed = "given for all levels of the question, or for none"
            remedy = "Give the missing priors, or delete them all to plan for the worst case."
            raise InputError("prior", priors, allowed, remedy)
        if self.kind == "categorical" and abs(sum(priors) - 1) > 1e-6:
            remedy = "Everybody has exactly one answer."
            raise InputError("prior", priors, f"of sum 1, not {sum(priors):g}", remedy)
        return Objective("expected", weights, priors)

    @property
    def policy(self) -> PrivacyPolicy:
        """The levels as a privacy policy; a numeric question has none.

        Where everybody has exactly one answer, no two answers are of the same one-item level:
        that pair is left out (for up to 200 levels, whose pairs a parameter file can list).
        """
        if self.kind == "numeric":
            raise InputError("kind", self.kind, "one with levels", "It has one budget for all.")
        several = self.kind not in ("categorical", ORDINAL)
        return PrivacyPolicy(
            [level.epsilon for level in self.levels],
            [level.item_count for level in self.levels],
            self.rule,
            [level.name for level in self.levels],
            self_pairs=several or len(self.levels) > _MOST_LISTED_LEVELS,
        )


def require_text(argument: str, value: object) -> None:
    """InputError for anything but text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(argument, value, "text that is not blank", "Fill it in.")


def _require_no_number_twice(levels: Sequence[Level]) -> None:
    """Items without a name go by their number, which another item must not have as its name."""
    if all(level.items for level in levels):
        return
    total = sum(level.item_count for level in levels)
    for level in levels:
        for item in level.items:
            if _NUMBER.fullmatch(item) and int(item) < total:
                allowed = "no number, as items of other levels go by theirs"
                remedy = "Name all items, or none."
                raise InputError(f"item of level {level.name!r}", item, allowed, remedy)
