"""The ledger: what earlier collections from the same people have spent, and what is left.

Budgets add up per input (sequential composition, theorem 2 of the IDUE paper). The ledger
therefore adds up, for every level by its name, what answers of that level have spent; a
new survey of the same people plans with what is left of each level's budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.arrays import Array
from planner.errors import FileError, InputError
from planner.files import read_text, replace_file, unwritable
from planner.limits import MAX_EPSILON
from planner.policy.policy import PrivacyPolicy

_MEBIBYTES = 16

Spent = Annotated[float, Field(gt=0, le=1000 * MAX_EPSILON)]


class _Strict(BaseModel):
    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, allow_inf_nan=False
    )


class LedgerEntry(_Strict):
    """One past collection: its survey, its day (ISO 8601), its pair rule, and nats per level.

    ``against`` is what was said against answers, where that is not the same.
    All rounds of a question that is asked again are one collection and spend once; ``times_open``
    are the questions of which an observer may see when answers changed.
    """

    survey: Annotated[str, Field(min_length=1)]
    day: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    rule: Literal["min", "avg", "one-sided", "matrix"]
    spent: Annotated[dict[str, Spent], Field(min_length=1)]
    against: dict[str, Spent] = {}
    times_open: list[str] = []


class Ledger(_Strict):
    """The past collections from one group of people.

    Examples
    --------
    >>> spring = LedgerEntry(survey="spring", day="2026-03-01", rule="min", spent={"severe": 0.4})
    >>> ledger = Ledger().after(spring)
    >>> ledger.left(PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"])).epsilons.tolist()
    [0.6, 2.0]
    """

    format: Literal["ldp-planner-ledger"] = "ldp-planner-ledger"
    version: Literal[1] = 1
    collections: list[LedgerEntry] = []

    def spent(self, level: str, *, against: bool = False) -> float:
        """Nats that answers of the level have spent so far, or that were said ``against`` them."""
        # Budgets of several collections add up (sequential composition).
        spent = []
        for collection in self.collections:
            nats = collection.spent.get(level, 0.0)
            if (
                against
            ):  # of a level without such a budget as much may be said against it
                nats = collection.against.get(level, nats)
            spent.append(nats)
        return sum(spent)

    def after(self, collection: LedgerEntry) -> Ledger:
        """The ledger with one more collection; an :class:`InputError` if its name is there."""
        if any(earlier.survey == collection.survey for earlier in self.collections):
            remedy = (
                "A collection counts once; give another round of it a name of its own."
            )
            allowed = "not in the ledger yet"
            raise InputError("survey", collection.survey, allowed, remedy)
        return Ledger(collections=[*self.collections, collection])

    def left(self, policy: PrivacyPolicy) -> PrivacyPolicy:
        """``policy`` with what is left of every level's budget.

        Rule min: ``min(eps_i - spent_i, eps_j - spent_j)`` is at most what is left of the pair's
        budget. Rule avg: exactly it. One-sided: likewise, from either budget what was spent of it.
        A matrix: every pair budget less the larger of what the two levels have spent. Of a policy
        with one level what is left is the same under each rule.

        Raises
        ------
        InputError
            Nothing is left of a level's budget, or it was spent under another pair rule.
        """
        names = policy.names
        # Levels are the same as earlier ones by their names.
        spent = np.array([self.spent(name) for name in names])
        if not spent.any():
            return policy
        for collection in self.collections:
            # Of one level all rules are one.
            if policy.size == 1 or collection.rule == policy.rule_name:
                continue
            if any(name in collection.spent for name in names):
                remedy = "What was spent under one rule says too little about another's pairs."
                allowed = f"{collection.rule!r} as in the ledger"
                raise InputError("rule", policy.rule_name, allowed, remedy)
        epsilons = policy.epsilons
        lowered = spent
        if policy.rule.by_level:
            epsilons = policy.epsilons - spent
            lowered = np.array([self.spent(name, against=True) for name in names])
            _require_left(names, policy.epsilons, spent)
            if policy.against is not None:
                what = ", as to what is said against them"
                _require_left(names, policy.against, lowered, what)
        else:  # the budgets are those of pairs
            _require_pairs_left(policy, spent)
        return policy.with_changes(epsilons, policy.rule.without(lowered))


def read_ledger(path: str | Path) -> Ledger:
    """Read a ledger file of at most 16 MiB; a :class:`FileError` if it is none.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_ledger(f"{folder}/ledger.json", Ledger())
    ...     read_ledger(f"{folder}/ledger.json") == Ledger()
    True
    """
    text = read_text(path, _MEBIBYTES)
    try:
        ledger = Ledger.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "the file"
        reason = f"is not a ledger: {key}: {first['msg']}"
        remedy = "Use the ledger as it was last written, or start a new one."
        raise FileError(path, reason, remedy) from error
    surveys = [collection.survey for collection in ledger.collections]
    if len(set(surveys)) < len(surveys):
        raise FileError(path, "a collection is there twice", "Keep one of each name.")
    return ledger


def earlier(path: str | Path | None) -> Ledger:
    """The ledger in this file; that of a first collection if there is none yet."""
    if path is None or not Path(path).exists():
        return Ledger()
    return read_ledger(path)


def write_ledger(path: str | Path, ledger: Ledger) -> None:
    """Write a ledger file, replacing an existing one atomically, or leaving it as it was.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_ledger(f"{folder}/ledger.json", Ledger())
    ...     write_ledger(f"{folder}/ledger.json", Ledger())  # replaces it
    """
    replace_file(path, ledger.model_dump_json(indent=2) + "\n")


def record_collection(
    path: str | Path, planned_with: Ledger, collection: LedgerEntry
) -> None:
    """Add a collection to a ledger file, unless that changed since the plan was made."""
    path = Path(path)
    lock = path.with_name(f"{path.name}.lock")  # only one process can make it
    try:
        lock.touch(exist_ok=False)
    except FileExistsError as error:
        remedy = f"Try again when it is done. If none is at work, delete {lock}."
        raise FileError(path, "is being written by another process", remedy) from error
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        # Another survey may have been collected in between, and spent what this one would.
        now = earlier(path)
        if now != planned_with:
            reason = "changed since this survey was planned with it"
            raise FileError(path, reason, "Plan again with what is left now.")
        write_ledger(path, now.after(collection))
    finally:
        lock.unlink(missing_ok=True)


def _require_left(
    names: Sequence[str], budgets: Array, spent: Array, what: str = ""
) -> None:
    """Refuse a level that has spent all of its budget; ``what`` says of which budget."""
    for i in np.flatnonzero(budgets <= spent).tolist():
        level = f"{names[i]!r}{what}"
        raise _nothing_left(level, float(budgets[i]), float(spent[i]))


def _require_pairs_left(policy: PrivacyPolicy, spent: Array) -> None:
    """Refuse a pair whose levels have spent all of its budget, of a matrix of pair budgets."""
    # A pair that no budget protects has infinitely many nats, and as many left.
    budgets = policy.bounds()
    taken = np.maximum.outer(spent, spent)
    for i, j in np.argwhere(budgets <= taken):
        pair = f"{policy.names[i]!r} against {policy.names[j]!r}"
        raise _nothing_left(pair, float(budgets[i, j]), float(taken[i, j]))


def _nothing_left(name: str, budget: float, spent: float) -> InputError:
    remedy = (
        f"Answers of {name} tolerate {budget:.6g} in all and have spent {spent:.6g}: leave the "
        "question out, ask other people, or have a larger budget agreed on."
    )
    return InputError(f"budget left for {name}", budget - spent, "above 0", remedy)
