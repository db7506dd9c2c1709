"""Plan a survey: what every question gets, what everybody spends, and what else to know.

For one question this is its plan with the full budgets. For several questions asked of the
same people the budgets are split, or everybody answers some of them, as the survey's
``design`` says; both are computed and the better one is recommended. What is planned
(and exported) never spends more than the levels tolerate.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest
from itertools import product
from pathlib import Path
from typing import SupportsIndex, overload

from planner.errors import InputError, SolverError
from planner.frames import Columns, WithDataFrame
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.distribution import with_cells
from planner.planning.joint import Related, joint_part
from planner.planning.ledger import Ledger, LedgerEntry, earlier, record_collection
from planner.planning.option import AnyPart, Curve, Part, Spending, with_budget_left
from planner.planning.outsiders import SurveyOutsiderView
from planner.planning.power import GroupShares
from planner.planning.question import KINDS, QuestionPlan, plan_question
from planner.planning.sets import Padded
from planner.planning.shares import Allocation, allocate
from planner.policy.budget_text import digits_up
from planner.solvers.solving import smallest_budget
from planner.survey.questions import Question
from planner.survey.survey import Survey, load_survey

# Size of a joint question that is offered beside a plan; levels also where it has a matrix of pair
# budgets, whose windows are walked.
_MOST_CELLS_OFFERED = 100
_MOST_LEVELS_OFFERED = 6
_MOST_LEVELS_OF_A_MATRIX = 3
_ROUNDS = 4  # of padding lengths and shares that fit each other; two are usually enough


class QuestionPlans(tuple[QuestionPlan, ...]):
    """The plans of a survey's questions, in their order; each is found by its name, too.

    Examples
    --------
    >>> from planner import plan_survey
    >>> plan_survey("examples/clinic.toml").questions["treatment"].name
    'treatment'
    """

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex | str, /) -> QuestionPlan: ...
    @overload
    def __getitem__(self, key: slice, /) -> tuple[QuestionPlan, ...]: ...
    def __getitem__(
        self, key: SupportsIndex | str | slice, /
    ) -> QuestionPlan | tuple[QuestionPlan, ...]:
        """The plan at a position, or of the question called so; an InputError if none is."""
        if not isinstance(key, str):
            return super().__getitem__(key)
        for planned in self:
            if planned.name == key:
                return planned
        names = [planned.name for planned in self]
        remedy = "Ask for one of the survey's."
        raise InputError.unknown("question", key, names, remedy)


@dataclass(frozen=True, eq=False, repr=False)
class SurveyPlan(WithDataFrame):
    """A survey, planned.

    Attributes
    ----------
    survey, questions:
        As asked for, and all its questions, planned for the survey's design.
    allocation:
        The shares with their proof, and the alternative of some questions each, for the questions
        that share the budgets: all but those of the kind ``"sampled-choice"``, whose guarantee is
        of another nature. None unless there are several such questions.
    ledger:
        What the same people have spent before, as it was planned with.
    """

    survey: Survey
    questions: QuestionPlans
    allocation: Allocation | None
    ledger: Ledger

    def question(self, name: str) -> QuestionPlan:
        """The plan of the question called ``name``; an :class:`InputError` if there is none."""
        return self.questions[name]

    @property
    def deployable(self) -> bool:
        """Whether somebody vouches for whatever questions rely on, and it promises something."""
        return all(question.deployable for question in self.questions)

    @property
    def sharing(self) -> list[QuestionPlan]:
        """The questions that share the budgets: neither those of two rounds nor anchors."""
        return [plan for plan in self.questions if plan.question.shares_budgets]

    @property
    def questions_each(self) -> int:
        """How many of the questions that share the budgets a person answers."""
        if self.allocation is None or self.survey.design == "split":
            return len(self.sharing)
        return self.allocation.some_each.asked

    @property
    def better_design(self) -> str | None:
        """The survey's ``design`` that has a smaller objective, or None."""
        allocation = self.allocation
        if allocation is None:
            return None
        if self.survey.design == "split":
            best = allocation.better == "split"
        else:
            # A survey may state a number of questions a person that is not the best.
            as_many = allocation.some_each.asked == allocation.best_each.asked
            best = allocation.better != "split" and as_many
        if best:
            return None
        return allocation.better

    @property
    def spending(self) -> tuple[Spending, ...]:
        """What every level of every question tolerates, has left and spends."""
        rows: list[Spending] = []
        for question in self.questions:
            rows.extend(question.spending)
        return tuple(rows)

    @property
    def objective_value(self) -> float | None:
        """The survey's objective in its design, as the shares are planned; None if none are."""
        if self.allocation is None:
            return None
        if self.survey.design == "split":
            return self.allocation.value
        return self.allocation.some_each.value

    @property
    def most_spent(self) -> float:
        """What a person spends at most, in nats: the largest level of every question they answer.

        By sequential composition the questions that a person answers add up: all, or the
        costliest of so many. Questions of the kind ``"sampled-choice"`` are not counted.
        """
        largest = []
        for question in self.questions:
            if question.spending:
                spent = max(row.spent for row in question.spending)
                # Two sets may be told apart by more than two items are: by their cap.
                largest.append(max(spent, question.cap))
        return sum(nlargest(self.questions_each, largest))

    @property
    def most_leaked(self) -> float:
        """What a report may say at most of two answers of any question, in nats; 0 for nothing."""
        most = 0.0
        for question in self.questions:
            if question.question.locally_private:
                most = max(most, float(question.leakage.max()), question.cap)
        return most

    def outsiders(self, delta: float | None = None) -> SurveyOutsiderView:
        """What an outsider learns, question by question and from all together.

        Computed when asked for; arguments as in
        :meth:`~planner.planning.question.QuestionPlan.outsiders`.

        Examples
        --------
        >>> from planner.survey.levels import Level
        >>> from planner.survey.choices import Categorical
        >>> levels = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=4))
        >>> plan = plan_survey(Survey("s", 10_000, (Categorical("a", levels, mechanism="grr"),)))
        >>> (view,) = plan.outsiders().questions
        >>> round(view.shuffled.epsilon, 3), round(view.guess.success, 3)
        (0.031, 0.405)
        """
        # A person hides among the people of the smallest combination of known groups.
        smallest_group = 1.0
        for shares in self.survey.group_shares.values():
            smallest_group *= min(shares.values())
        anchored = {question.question.anchor_of for question in self.questions}
        views = []
        left_out = []
        moves_of_others = {}
        for question in self.questions:
            if question.question.anchor_of is not None:
                continue  # what its true answer is, everybody knows
            view = question.outsiders(delta, smallest_group)
            if view is not None:
                views.append(replace(view, anchored=question.name in anchored))
                continue
            left_out.append(question.name)
            moves = question.moves
            if moves is not None:
                moves_of_others[question.name] = moves
        asked = None  # all of them
        if self.questions_each != len(self.sharing):
            asked = self.questions_each
        return SurveyOutsiderView(
            questions=tuple(views),
            asked=asked,
            left_out=tuple(left_out),
            moves_of_others=moves_of_others,
        )

    def collection(self, day: datetime.date) -> LedgerEntry:
        """What this survey adds to a ledger, per level by its name.

        Who answers so many questions spends so many questions' budgets: the largest per level. An
        :class:`InputError` if the questions have different pair rules, or none shares the budgets.
        """
        rules = set()
        times_open = []
        for plan in self.sharing:
            if not plan.question.levels:
                continue  # a number has one budget, which is the same under every rule
            # Of a joint question the rules of its parts, whose levels it spends.
            for part in plan.question.together:
                rules.add(part.policy.rule_name)
            if _times_open(plan.question):
                times_open.append(plan.name)
        if len(rules) > 1:
            remedy = "One ledger keeps one pair rule: plan these questions as surveys of their own."
            names = " and ".join(sorted(rules))
            reason = f"the questions have different pair rules, {names}"
            raise InputError.because("rule", reason, remedy)
        spent = self._by_level(lambda row: row.spent)
        if not spent:
            remedy = "What Sampling Privacy reveals does not add up with other budgets."
            reason = "no question shares the budgets"
            raise InputError.because("spending", reason, remedy)
        against = {}
        for level, nats in self._by_level(lambda row: row.against).items():
            if nats:
                against[level] = nats
        rule = "min"  # of numbers alone, of which any rule says the same
        if rules:
            rule = rules.pop()
        return LedgerEntry.model_validate(
            {
                "survey": self.survey.name,
                "day": day.isoformat(),
                "rule": rule,
                "spent": spent,
                "against": against,
                "times_open": times_open,
            }
        )

    def record(self, day: datetime.date) -> None:
        """Add :meth:`collection` to the ledger file that the survey names, which need not exist.

        An :class:`InputError` if it names none; a :class:`FileError` if it cannot be written, or
        changed since the survey was planned with it.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from planner.survey.levels import Level
        >>> from planner.survey.choices import Categorical
        >>> asked = Categorical("a", (Level("severe", 1.0, item_count=3),))
        >>> with TemporaryDirectory() as folder:
        ...     survey = Survey("s", 1000, (asked,), ledger=f"{folder}/ledger.json")
        ...     plan_survey(survey).record(datetime.date(2026, 3, 1))
        ...     earlier(survey.ledger).spent("severe")
        1.0
        """
        if self.survey.ledger is None:
            remedy = 'Name one in the survey: ledger = "ledger.json" under [survey].'
            raise InputError("ledger", None, "given to record what is spent", remedy)
        record_collection(self.survey.ledger, self.ledger, self.collection(day))

    def _by_level(self, nats_of: Callable[[Spending], float]) -> dict[str, float]:
        """Per level, of so many questions; a cell of a joint one spends for each of its levels."""
        by_level: dict[str, list[float]] = {}
        for question in self.questions:
            levels_spent = _levels_spent(question, nats_of)
            for level, nats in levels_spent.items():
                by_level.setdefault(level, []).append(nats)
        # Who answers so many questions may have been asked those that spend most.
        most = {}
        for level, nats_of_questions in by_level.items():
            most[level] = sum(nlargest(self.questions_each, nats_of_questions))
        return most

    @cached_property
    def together(self) -> Related | None:
        """What the two questions of a survey would tell as one joint question with all budgets.

        None where they are not two of one answer each, asked once, or cannot be asked so; nor are
        tables that take seconds to plan.
        """
        parts = [question.part for question in self.questions]
        if len(parts) != 2:
            return None
        for part in parts:
            if not part.asked.joins or part.asked.rounds:
                return None
        try:
            part = joint_part(parts)
            most_levels = _MOST_LEVELS_OFFERED
            if not part.asked.policy.rule.by_level:
                most_levels = _MOST_LEVELS_OF_A_MATRIX
            cells = len(part.asked.ordered)
            if cells > _MOST_CELLS_OFFERED or len(part.asked.levels) > most_levels:
                return None
            return plan_question(part).fact(Related)
        except (InputError, SolverError):
            return None

    @property
    def summary(self) -> str:
        """What is collected from how many people, and what a person spends at most."""
        asked = f"{self.survey.name}: {self.survey.users:,} people"
        if not self.spending:
            return f"{asked}, asked in two rounds."
        return f"{asked}; nobody spends more than {digits_up(self.most_spent)} nats."

    def columns(self) -> Columns:
        """One row a question: who answers, its share of the budgets, its mechanism, its error."""
        columns: dict[str, list[object]] = {}
        for question in self.questions:
            padded = question.fact(Padded)
            row = {
                "question": question.name,
                "kind": question.question.kind,
                "users": question.part.people,
                "share": question.part.share,
                "mechanism": question.mechanism_label,
                "padding_length": padded and padded.length,
                "total_error": question.total_error,
                "unit": question.question.unit,
                "error_share": question.error_share,
            }
            for name, value in row.items():
                columns.setdefault(name, []).append(value)
        return columns


def _levels_spent(
    question: QuestionPlan, nats_of: Callable[[Spending], float]
) -> dict[str, float]:
    """What a question spends by the names of its levels, the most of a level in several cells."""
    spent: dict[str, float] = {}
    if question.part.by_parts:
        for row in question.spending:
            spent[row.level] = max(spent.get(row.level, 0.0), nats_of(row))
        return spent
    level_names = map(_level_names, question.question.together)
    # A cell has a level of each part; cells are in the order of the question's rows.
    cells = product(*level_names)
    # Of two rounds there are no rows.
    for cell, row in zip(cells, question.spending, strict=False):
        for level in cell:
            spent[level] = max(spent.get(level, 0.0), nats_of(row))
    return spent


def _times_open(question: Question) -> bool:
    """Whether it may be seen when an answer changes."""
    return question.rounds is not None and question.rounds.times_open


def _level_names(question: Question) -> list[str]:
    """The names of its levels; of a number, which has none, that of the question."""
    if not question.levels:
        return [question.name]
    return [level.name for level in question.levels]


def plan_survey(
    survey: Survey | str | Path,
    ledger: Ledger | None = None,
    mechanism: str | None = None,
) -> SurveyPlan:
    """Plan every question of a survey and the budget they share.

    Every question is planned with its :attr:`~planner.survey.questions.Question.mechanism`; the
    shares too, but with opt0 in place of those with one budget for all levels. Of sets they are
    the best at these padding lengths, which are the best at these shares.

    Parameters
    ----------
    survey:
        The questions with their weights, targets and mechanisms, and the design; or the path of a
        survey file, as for :func:`~planner.survey.survey.load_survey`.
    ledger:
        Earlier collections from the same people; when omitted those of the file that the survey
        names, none if there is no such file yet.
    mechanism:
        In place of that of every choice and item set.

    Raises
    ------
    InputError, SolverError
        A question cannot be planned, or not with its mechanism, or has no budget left; no
        certified answer could be produced.

    Examples
    --------
    >>> from planner.survey.levels import Level
    >>> from planner.survey.choices import Categorical
    >>> levels = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=4))
    >>> plan = plan_survey(Survey("s", 1000, (Categorical("a", levels), Categorical("b", levels))))
    >>> [round(question.part.share, 6) for question in plan.questions], plan.allocation.better
    ([0.5, 0.5], 'one-each')
    """
    survey = _loaded(survey)
    if mechanism is not None:
        survey = _with_mechanism(survey, mechanism)
    if ledger is None:
        ledger = earlier(survey.ledger)
    settled = with_cells(survey)
    parts, allocation = parts_of(settled, ledger)
    planned = {part.asked.name: plan_question(part) for part in parts}
    # Anchors come second: they take what is planned for their question.
    for question in settled.questions:
        if question.anchor_of is not None:
            part = anchor_part(question, planned[question.anchor_of])
            planned[question.name] = plan_question(part)
    in_order = [planned[question.name] for question in settled.questions]
    return SurveyPlan(survey, QuestionPlans(in_order), allocation, ledger)


def _loaded(survey: Survey | str | Path) -> Survey:
    match survey:
        case Survey():
            return survey
        case str() | Path():
            return load_survey(survey)
    remedy = 'Write plan_survey("survey.toml").'  # type: ignore[unreachable]
    allowed = "a Survey, or the path of a survey file"
    raise InputError("survey", type(survey).__name__, allowed, remedy)


def _with_mechanism(survey: Survey, mechanism: str) -> Survey:
    """The survey with this mechanism for every choice and item set."""
    if not mechanism.strip():
        remedy = "Leave it out to plan each question's own."
        raise InputError("mechanism", mechanism, "the name of a mechanism", remedy)
    questions = []
    for question in survey.questions:
        if question.kind in CATALOGUE["opt0"].kinds:
            questions.append(question.replacing(mechanism=mechanism))
        else:
            questions.append(question)
    return survey.replacing(questions=tuple(questions))


def parts_of(survey: Survey, ledger: Ledger) -> tuple[list[AnyPart], Allocation | None]:
    """The parts of all questions but anchors, and how those that share the budgets share them.

    Numbers whose distribution is wanted have their cells
    (:func:`~planner.planning.distribution.with_cells`), and the ``ledger`` says what earlier
    collections spent. None in place of the allocation where fewer than two questions share.
    """
    for question in survey.questions:
        KINDS[question.kind].check(question)
    questions = [question for question in survey.questions if question.shares_budgets]
    users = survey.users
    groups = known_groups(survey)
    parts: list[AnyPart] = []
    for question in survey.questions:
        if not question.locally_private:
            parts.append(Part.alone(question, users))
    if len(questions) < 2:  # nothing is shared
        for question in questions:
            parts.append(part_of(question, users, ledger, groups=groups))
        return parts, None
    tolerated = []
    left = []
    for question in questions:
        settled = KINDS[question.kind].settled(question, users)
        tolerated.append(settled)
        left.append(with_budget_left(settled, ledger))
    split, some, allocation = _allocated(left, survey)
    for k, question in enumerate(questions):
        if survey.design == "split":
            # Everybody answers all, with a share of the budgets.
            fitted = split[k]
            share = float(allocation.shares[k])
            fraction = 1.0
        else:
            # A part of the people answers it, with the same share for all.
            fitted = some[k]
            share = allocation.some_each.share
            fraction = float(allocation.some_each.fractions[k])
        part = Part(question, tolerated[k], fitted, share, fraction, users, groups)
        parts.append(part)
    return parts, allocation


def known_groups(survey: Survey) -> tuple[GroupShares, ...]:
    """The survey's known groups that are no numbers, with the shares that are expected."""
    groups = []
    for name, shares in survey.group_shares.items():
        groups.append(GroupShares(name, tuple(shares.items())))
    return tuple(groups)


def part_of(
    asked: Question,
    users: int,
    ledger: Ledger,
    share: float = 1.0,
    fraction: float = 1.0,
    groups: tuple[GroupShares, ...] = (),
) -> AnyPart:
    """One question's part, settled, at this ``share`` of the budgets and ``fraction`` of people."""
    if not asked.locally_private:
        return Part(asked, asked, asked, share, fraction, users, groups)
    kind = KINDS[asked.kind]
    tolerated = kind.settled(asked, users)
    left = with_budget_left(tolerated, ledger)
    smallest_budget(left.policy)
    fitted = kind.fitted(left, fraction * users, share)
    return Part(asked, tolerated, fitted, share, fraction, users, groups)


def anchor_part(anchor: Question, question: QuestionPlan) -> AnyPart:
    """The part of an anchor: the mechanism and the budgets that its ``question`` spends."""
    part = question.part

    def like(settled: Question) -> Question:
        return anchor.replacing(
            levels=settled.levels, mechanism=question.deployed.mechanism
        )

    return replace(
        part,
        asked=like(part.asked),
        tolerated=like(part.tolerated),
        question=like(part.question),
    )


def _allocated(
    questions: Sequence[Question], survey: Survey
) -> tuple[list[Question], list[Question], Allocation]:
    """The questions as a split asks them, as some are asked each, and the allocation.

    They have the padding lengths that fit; those depend on the shares, and the shares on them:
    both are found in turn until neither changes. Lengths that go round and round are those for
    which the last shares were made.
    """
    users = survey.users
    # A plan that splits stands beside one question each, or more if that is better.
    asked = survey.asked
    if survey.design == "one-each":
        asked = 1
    everybody = [users] * len(questions)
    split = _fitted(questions, everybody, [1.0] * len(questions))
    some = split
    for _ in range(_ROUNDS):
        allocation = allocate(_curves(split, users), _curves(some, users), asked)
        some_each = allocation.some_each
        next_split = _fitted(questions, everybody, allocation.shares.tolist())
        reached = (users * some_each.fractions).tolist()
        next_some = _fitted(questions, reached, [some_each.share] * len(questions))
        if next_split == split and next_some == some:
            break
        made_for = (split, some)
        split = next_split
        some = next_some
    else:
        # Lengths and shares still change each other: the allocation belongs to the last but one.
        split, some = made_for
    return split, some, allocation


def _fitted(
    questions: Sequence[Question], users: Sequence[float], shares: Sequence[float]
) -> list[Question]:
    """The questions with what depends on their people and shares, such as a padding length."""
    fitted = []
    for question, people, share in zip(questions, users, shares, strict=True):
        kind = KINDS[question.kind]
        fitted.append(kind.fitted(question, people, share))
    return fitted


def _curves(questions: Sequence[Question], users: int) -> list[Curve]:
    """The errors of the questions at any share of their budgets."""
    return [KINDS[question.kind].shared(question, users) for question in questions]
