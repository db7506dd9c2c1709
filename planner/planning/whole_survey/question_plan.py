"""One question of a survey, planned: every fact that any face shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.designs.channel import Channel
from planner.designs.subset_design import SubsetDesign
from planner.designs.table import UnaryTable
from planner.estimates.channel import shares_up_to
from planner.estimates.ordered import OrderedEstimates
from planner.frames import Framed
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.allocation.blocks import Block
from planner.planning.candidates import MechanismChoice
from planner.planning.explain import LevelExplanation
from planner.planning.outsiders import OutsiderView, outsider_view
from planner.planning.padding import PaddingPlan
from planner.planning.relax import Relaxation
from planner.planning.sampled import SamplingPlan
from planner.planning.solve import Certified
from planner.planning.whole_survey.levels import Levels
from planner.planning.whole_survey.part import Spending
from planner.planning.whole_survey.target_answers import TargetAnswer
from planner.survey.questions import COUNTS, ORDINAL, Levelled, Numeric, Ordinal, Question


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QuestionPlan(Framed):
    """A question with the budgets that it really spends and the mechanism that is deployed.

    Attributes
    ----------
    question:
        As asked for in the survey.
    deployed:
        As its parameter file states it: with the budgets spent, and nothing open.
    share, fraction:
        Share of the budgets left that it gets; share of the people who are asked it.
    users, everybody:
        Number of people who answer it; of the whole survey.
    spending:
        What each level tolerates, has left and spends; none for the kind ``"sampled-choice"``.
    mechanism:
        What is deployed, as
        :func:`~planner.deployment.parameter_file.building.question_document` takes it.
    error:
        Predicted squared error per user of the survey, which the survey's objective adds up:
        that of :attr:`objective_name`, on [-1, 1] for a mean; for the kind ``"sampled-choice"``
        the square of :attr:`total_error` over the users.
    total_error:
        The question's error in :attr:`unit`: the root of ``error``, among those who answer. For
        the kind ``"sampled-choice"`` the largest error of a count at 95 %.
    error_share:
        The same as a share of those who answer; of a mean, of half the range.
    lower_bound:
        No table of the deployed form has a smaller total error; of a subset design, no mechanism
        of any kind, of sets none that reports one item at their padding length. None where
        nothing is proven.
    least_error:
        What no mechanism of any kind that keeps the budgets can beat with unbiased estimates,
        as ``total_error``; None where that is not known.
    levels:
        Level by level; None for a mean and ordered answers, and for the kind ``"sampled-choice"``.
    choice:
        All mechanisms on the scale of ``total_error``; None for the kind ``"sampled-choice"``.
    padding, padding_errors:
        For item sets with something known of the sets: every padding length's squared bias and
        variance, and its total error in people, shape ``(k,)``.
    relaxations:
        For the levels with the highest prices, best first; ``saving`` is the share of
        ``total_error`` that goes away, ``price`` as in ``levels``. Where levels are merged, of
        what would be planned then.
    targets:
        What becomes of the question's targets.
    explanations:
        Levels in plain sentences, the first 40.
    certified:
        The table or the design that is deployed, with its proof; None for other mechanisms.
    block:
        What its error is at any share of its budgets, of ordered answers that of their counts; None
        for the kind ``"sampled-choice"``.
    """

    question: Question
    deployed: Question
    share: float
    fraction: float
    users: int
    everybody: int
    spending: tuple[Spending, ...]
    mechanism: Any
    error: float
    total_error: float
    error_share: float
    lower_bound: float | None = None
    least_error: float | None = None
    levels: Levels | None = None
    choice: MechanismChoice | None = None
    padding: PaddingPlan | None = None
    padding_errors: NDArray[np.float64] | None = None
    relaxations: tuple[Relaxation, ...] = ()
    targets: tuple[TargetAnswer, ...] = ()
    explanations: tuple[LevelExplanation, ...] = ()
    certified: Certified | None = None
    block: Block | None = None

    @property
    def name(self) -> str:
        """The question's name."""
        return self.question.name

    @property
    def mechanism_label(self) -> str:
        """What the deployed mechanism is called."""
        return CATALOGUE[self.deployed.mechanism].label

    @property
    def shared_as(self) -> str | None:
        """What the mechanism is called whose errors decide its share; None where none does."""
        name = None if self.block is None else self.block.mechanism
        return None if name is None else CATALOGUE[name].label

    @property
    def padding_length(self) -> int | None:
        """To how many items sets are padded or cut; None for other questions."""
        return getattr(self.deployed, "padding_length", None)

    @property
    def unit(self) -> str:
        """Of ``total_error``: ``"people"``, or ``"in the question's unit"`` for a mean."""
        return "in the question's unit" if self.question.of_mean else "people"

    @property
    def share_of(self) -> str:
        """What ``error_share`` is a share of."""
        return "half the range" if self.question.of_mean else "the people who answer"

    @property
    def objective_name(self) -> str:
        """Which error is predicted and made small, in words."""
        if self.question.of_mean:
            return "error of the mean"
        if self.question.kind == "sampled-choice":
            return "largest error of a count at 95 %"
        if not isinstance(self.question, Levelled):
            return "error"
        objective = self.question.objective
        weighted = "" if objective.weights is None else "weighted "
        if isinstance(self.question, Ordinal):
            counts = self.question.wanted == COUNTS
            return f"{weighted}total error of the {'counts' if counts else 'cumulative shares'}"
        if objective.kind == "minimax":
            return f"{weighted}error of the worst single item"
        return f"{weighted}total error"

    @property
    def objective_answers(self) -> str:
        """For which answers that error holds, in words."""
        if self.padding is not None:
            return "expected for these sets"
        if self.channel is not None and self.question.kind != ORDINAL:
            made_for = [one for one in self.channel.scenarios if one.cap is None]
            expected = "for the expected answers"
            return expected if len(made_for) == 1 else f"for the worst of {len(made_for)} means"
        if isinstance(self.question, Levelled) and self.question.objective.kind == "expected":
            return "for the expected answers"
        if isinstance(self.question, Numeric) and self.question.preferences is not None:
            return "with the expected missing answers"
        return "for the least favourable answers"

    @property
    def measure(self) -> str:
        """Which error :attr:`total_error` is, and for which answers."""
        return f"{self.objective_name.capitalize()}, {self.objective_answers}"

    @property
    def saturation_epsilon(self) -> float | None:
        """Budget spent above which a level gains nothing, in nats; None where not known."""
        return None if self.certified is None else self.certified.saturation_epsilon

    @property
    def table(self) -> UnaryTable | None:
        """The table of probabilities that is deployed, with its proof; None for the others."""
        return self.certified if isinstance(self.certified, UnaryTable) else None

    @property
    def design(self) -> SubsetDesign | None:
        """The subset design that is deployed; of sets that of the items and a dummy."""
        return None if self.certified is None else self.certified.design

    @property
    def proven_gap(self) -> float | None:
        """Share by which the total error may be above the smallest possible, at least 1e-9.

        The digits below are rounding noise. None where nothing is proven.
        """
        if self.lower_bound is None:
            return None
        return max(self.total_error / self.lower_bound - 1, 1e-9)

    @property
    def channel(self) -> Channel | None:
        """The channel that is deployed, with what it was made for and its proof, or None."""
        return self.mechanism if isinstance(self.mechanism, Channel) else None

    @property
    def expected(self) -> OrderedEstimates | None:
        """What estimates of ordered answers would be on average, were all answers alike.

        None for other questions, and where a mean alone is wanted.
        """
        if self.channel is None or self.question.kind != ORDINAL or self.question.of_mean:
            return None
        channel, size = shares_up_to(self.channel), len(self.channel.symbols)
        alike = np.full(size, 1 / size)
        spread = channel.covariance(alike, drawn=True) / self.users
        return OrderedEstimates(channel.symbols, channel.wanted @ alike, spread, self.users)

    @property
    def sampling(self) -> SamplingPlan | None:
        """The plan of the two rounds, for the kind ``"sampled-choice"``; else None."""
        return self.mechanism if isinstance(self.mechanism, SamplingPlan) else None

    def outsiders(self, delta: float | None = None) -> OutsiderView | None:
        """What an outsider learns from reports as they are deployed, beside what is promised.

        Computed when asked for, in less than a second.

        Parameters
        ----------
        delta:
            Of the central guarantee; a power of ten, at most a hundredth of one over the people,
            when omitted.

        Returns
        -------
        OutsiderView or None
            None for the kind ``"sampled-choice"``, whose guarantee is of another nature, and where
            the budgets leave a pair of answers unprotected.

        Raises
        ------
        InputError
            ``delta`` is not above 0 and below 1.
        """
        if self.sampling is not None:
            return None
        errors = None if self.levels is None else self.levels.standard_errors
        return outsider_view(self.deployed, self.mechanism, self.users, errors, delta)

    @property
    def summary(self) -> str:
        """What it gets, and why its best mechanism is the best."""
        asked = f"{self.name}: {self.users:,} people, {self.share:.1%} of the budgets"
        if self.choice is None:
            return f"{self.name}: {self.users:,} people, {self.mechanism_label}."
        return f"{asked}, {self.mechanism_label}. {self.choice.reason}"

    def columns(self) -> dict[str, Any]:
        """One row a mechanism, best first; for the kind ``"sampled-choice"``, one a value."""
        if self.choice is None:
            rows: dict[str, Any] = self.mechanism.columns()
            return rows
        return self.choice.columns()
