"""The ID-LDP paper's real data sets, from a folder that the reader has."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from planner.mechanisms.inputs import ItemSets
from planner.planning.datasets import AnswerCounts

from .result import Claim, Setting

__all__ = ["FILES", "clothing", "first_items", "read", "read_all", "thinned"]

FILES = {
    "Retail": ("retail.dat",),
    "Kosarak": ("kosarak.dat",),
    "Clothing": ("clothing.dat", "renttherunway_final_data.json"),
}
"""Where each data set may be: FIMI transactions, or the reviews of Rent the Runway."""


def read(name: str, setting: Setting) -> AnswerCounts | None:
    """A data set by its name in the paper; ``None`` if its file is not in the folder.

    The small version keeps the first tenth of the people.
    """
    path = setting.file(*FILES[name])
    if path is None:
        return None
    answers = clothing(path) if path.suffix == ".json" else transactions(path)
    return _first(answers, answers.users // 10) if setting.quick else answers


def read_all(
    names: Sequence[str], setting: Setting, text: str, source: str
) -> tuple[dict[str, AnswerCounts], list[Claim]]:
    """The data sets in the folder; for each other one the claim ``text``, skipped."""
    found = {name: read(name, setting) for name in names}
    skipped = [
        Claim.skipped(text.format(name), source, *FILES[name])
        for name, answers in found.items()
        if answers is None
    ]
    return {
        name: answers for name, answers in found.items() if answers is not None
    }, skipped


@lru_cache(maxsize=2)
def transactions(path: Path) -> AnswerCounts:
    """A person's item numbers on each line; one that stands there again counts once."""
    with path.open(encoding="ascii") as lines:
        return _answers([list(dict.fromkeys(line.split())) for line in lines], key=int)


def clothing(path: Path) -> AnswerCounts:
    """Who rented what: a JSON object a line with ``user_id`` and ``item_id``."""
    rented: dict[str, set[str]] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            review = json.loads(line)
            rented.setdefault(str(review["user_id"]), set()).add(str(review["item_id"]))
    return _answers([sorted(items) for items in rented.values()])


def _answers(
    people: Sequence[Sequence[str]], key: Callable[[str], object] | None = None
) -> AnswerCounts:
    labels = sorted({item for items in people for item in items}, key=key)
    place = {item: k for k, item in enumerate(labels)}
    sets = ItemSets.of(
        [[place[item] for item in items] for items in people], len(labels)
    )
    return AnswerCounts(tuple(labels), sets.counts(), sets)


def first_items(answers: AnswerCounts) -> AnswerCounts:
    """Single-item use: the first item of every set that is not empty."""
    sets = answers.sets
    assert sets is not None  # noqa: S101 - baskets have sets
    firsts = sets.members[sets.starts[:-1][sets.sizes > 0]]
    return AnswerCounts(
        answers.labels, np.bincount(firsts, minlength=len(answers.labels))
    )


def thinned(
    answers: AnswerCounts, keep: float, rng: np.random.Generator
) -> AnswerCounts:
    """One random item of every set, and each of the others with probability ``keep``."""
    sets = answers.sets
    chosen = rng.random(sets.members.size) < keep
    filled = sets.sizes > 0
    chosen[sets.starts[:-1][filled] + rng.integers(sets.sizes[filled])] = True
    starts = np.concatenate([[0], np.cumsum(chosen)])[sets.starts]
    small = ItemSets(sets.items, sets.members[chosen], starts)
    return AnswerCounts(answers.labels, small.counts(), small)


def _first(answers: AnswerCounts, users: int) -> AnswerCounts:
    """The first ``users`` people, with the items that they have."""
    ends = answers.sets.starts[: users + 1]
    used, members = np.unique(answers.sets.members[: ends[-1]], return_inverse=True)
    sets = ItemSets(used.size, members, ends)
    return AnswerCounts(tuple(answers.labels[i] for i in used), sets.counts(), sets)
