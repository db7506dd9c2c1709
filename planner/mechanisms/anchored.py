"""Reports of a question and its anchor: counted by what the anchor's adds, and how both vary.

Of an anchor one number counts, ``T*``: what its report adds to the count of the known answer. It
takes few values, of supports two, so that it is as a group that the question's reports are of:
their counts are kept for each value. Counts add up, whoever counted them, and tell ``sum T*``,
``sum T_a`` and ``sum T* T_a`` of every answer ``a``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.arrays import Array, Whole
from planner.estimates.attention import attentive_share
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate, Reports


class AnchoredCounter:
    """Counts reports that have the bytes of the question's and then of the anchor's.

    The sums are, for each value of ``T*``, how many reports there are and their counts.
    """

    def __init__(self, law: CollectedLaw) -> None:
        self._shape = law.shape
        self._known = known_element(law)
        self._sums = np.zeros((law.shape.addends, 1 + law.shape.cells), dtype=np.int64)

    def add(self, rows: Reports) -> None:
        """Count some reports; InputError for one whose parts the law cannot both produce."""
        of_question, of_anchor = np.hsplit(rows, 2)
        of_anchor = np.ascontiguousarray(of_anchor)
        # Nothing is kept of these counts: the counter refuses what is no report.
        self._shape.counter().add(of_anchor)
        numbers = self._shape.addend_numbers(of_anchor, self._known)
        added = np.zeros_like(self._sums)
        for number in np.unique(numbers):
            counter = self._shape.counter()
            counter.add(np.ascontiguousarray(of_question[numbers == number]))
            counted = counter.sums()
            added[number, 0] = counted.users
            added[number, 1:] = counted.counts
        self._sums += added

    def sums(self) -> Aggregate:
        """What was counted."""
        users = int(self._sums[:, 0].sum())
        return Aggregate(users, self._sums.ravel())


@dataclass(frozen=True, slots=True, eq=False)
class AnchorMeans:
    """The mean of ``T*`` over all reports, and how it varies with those of the question.

    Attributes
    ----------
    known_share:
        The mean of ``T*``: the share of people who give the known answer, as estimated.
    variance:
        Of that mean, of people drawn at random.
    covariances:
        Of that mean and the mean of ``T_a``, of each answer ``a``, shape ``(answers,)``.
    """

    known_share: float
    variance: float
    covariances: Array


def known_element(law: CollectedLaw) -> int:
    """The number of the answer that is true of everybody; TypeError without an anchor."""
    if law.anchor is None:
        raise TypeError(f"question {law.name!r} has no anchor")
    return int(law.asked.code(law.anchor.known))


def counts_of_question(law: CollectedLaw, counted: Aggregate) -> Aggregate:
    """The counts of the question's own reports, whether or not it has an anchor."""
    if law.anchor is None:
        return counted
    by_addend = _by_addend(law, counted)
    return Aggregate(counted.users, by_addend[:, 1:].sum(axis=0))


def anchor_means(law: CollectedLaw, counted: Aggregate) -> AnchorMeans:
    """What the reports of a question with an anchor say of the anchor.

    With ``n`` reports, ``C = (sum T* T_a / n - mean T* mean T_a) / n`` is the covariance of the
    means as it is seen in the reports. The variance is that of the law, which is what is seen
    where a report supports an answer or does not.
    """
    users = counted.users
    addends = law.shape.addends_of(known_element(law))
    by_addend = _by_addend(law, counted)
    sums = _sums_by_addend(law, by_addend)
    known_share = float(by_addend[:, 0] @ addends) / users  # mean T*
    means = sums.sum(axis=0) / users  # mean T_a
    mean_products = addends @ sums / users
    return AnchorMeans(
        known_share=known_share,
        variance=_variance_of_known(law, known_share) / users,
        covariances=(mean_products - known_share * means) / users,
    )


def _sums_by_addend(law: CollectedLaw, by_addend: Whole) -> Array:
    """``sum T_a`` over the reports with each ``T*``, shape ``(addends, answers)``."""
    sums = np.zeros((len(by_addend), law.levels.total))
    for number, (reports, *counts) in enumerate(by_addend):
        if reports:
            part = Aggregate(int(reports), np.array(counts))
            sums[number] = law.shape.estimate(part).values
    return sums


def _variance_of_known(law: CollectedLaw, known_share: float) -> float:
    """The variance of ``T*`` of somebody drawn at random, whose mean is ``known_share``.

    ``E[T*^2] - (g + (1 - g) u)^2``, where a share ``g`` of people gives the known answer and the
    others any of ``d``, ``u = 1/d`` each.
    """
    element = known_element(law)
    answers = law.levels.total
    # Noise may lift or lower the estimate beyond what a share can be.
    attentive = min(max(attentive_share(known_share, answers), 0.0), 1.0)  # g
    shares = np.full(answers, (1 - attentive) / answers)
    shares[element] += attentive
    known_answer = np.eye(1, answers, element)
    mean_square = float(law.shape.second_moments(shares, known_answer)[0, 0])
    return mean_square - float(shares[element]) ** 2


def _by_addend(law: CollectedLaw, counted: Aggregate) -> Whole:
    """The number of reports with each ``T*``, and their counts; ``(addends, 1 + cells)``."""
    counted.require((law.cells,))
    return counted.counts.reshape(law.shape.addends, 1 + law.shape.cells)
