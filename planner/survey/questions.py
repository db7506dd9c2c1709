"""Questions, kind by kind; a file has the same tables and keys."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import product
from math import inf, prod
from typing import Annotated, ClassVar, Literal, Self, cast

import numpy as np
import pydantic

from planner.arrays import Array
from planner.errors import InputError, mark
from planner.laws.answers import (
    MEAN_OF_SCORES,
    SHARES_UP_TO,
    Item,
    ItemOrNone,
    OneOfSet,
    Ordered,
)
from planner.laws.answers import Asked as WayOfAsking
from planner.laws.answers import Number as NumberOrNone
from planner.laws.levels import Levels
from planner.laws.rounds import MOST_ROUNDS, Rounds
from planner.laws.schema import Document
from planner.limits import JOINED, MAX_JOINT_CELLS, MAX_PADDING_LENGTH
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.policy.rules import DEFAULT_RULE, ONE_SIDED
from planner.survey import values
from planner.survey.assumed import AnyPreferences, AssumedSets
from planner.survey.columns import AnswerColumn, Pairs
from planner.survey.description import Description, at, named, told_apart, wrong
from planner.survey.joining import Kinds, kinds_of_cells
from planner.survey.levels import (
    Level,
    NumericDomain,
    Target,
    check_items,
    wrong_targets,
)

SET_DESIGN = "set-design"  # asks for one report about the whole set
# Asks for whichever mechanism has the smallest error; planning says which one that is.
BEST = "best"
# Asks for the best of all mechanisms for what is wanted: a mean, or shares of ordered answers.
CHANNEL = "channel"
MAX_ORDERED_ANSWERS = 256  # of more than 16 a channel is searched, and no bound proven
# Share of people without an answer to a question for a number that states none.
USUAL_MISSING = 0.1
RuleOf = str | tuple[tuple[float, ...], ...]


_CHANGES = "Write never, any, or the most changes that one person's answer may make."


def _read_changes(value: object) -> str | int:
    match value:
        case "never" | "any":
            return value
    return values.read_count(value, 1, MOST_ROUNDS - 1, _CHANGES)


class AskedAgain(Description):
    """The rounds of a question that is asked again, ``count`` times from 2 to 1000.

    ``changes`` is ``"never"`` (one report serves all rounds), ``"any"``, or the most changes of one
    person's answer; only with such a number, below ``count``, may ``times_open`` let an observer
    see when an answer changes.

    Examples
    --------
    >>> AskedAgain(12, 1, times_open=True).deployed
    Rounds(count=12, changes=1)
    """

    count: Annotated[
        int,
        values.count(2, MOST_ROUNDS, "Leave the rounds out if it is asked one time."),
    ]
    changes: Annotated[str | int, pydantic.PlainValidator(_read_changes)] = "any"
    times_open: bool = False

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        if self.times_open and (
            type(self.changes) is str or self.most_changes >= self.count
        ):
            allowed = f"a number from 1 to {self.count - 1} where times are open"
            raise wrong(self.changes, allowed, _CHANGES, "changes")
        return self

    @property
    def most_changes(self) -> int:
        """Changes of one person's answer that are allowed for: of any number, one a round."""
        match self.changes:
            case "never":
                return 0
            case int():
                return self.changes
        return self.count - 1

    @property
    def deployed(self) -> Rounds | None:
        """What the parameter file says; None where one report serves all rounds."""
        if self.changes == "never":
            return None
        return Rounds(self.count, self.most_changes if self.times_open else None)


class BaseQuestion(Description):
    """What questions of all kinds have.

    The ``name`` is distinct within the survey; ``mechanism`` is planned and deployed, the kind's
    usual one when left out; ``weight`` is the importance of the error among the survey's, above 0.
    ``targets`` are errors small enough; of a mean shares of half its range, without levels.
    ``ask`` is the question as people read it, the name when left out.

    In a file of answers they stand in ``columns``: one called like the question when left out;
    several, each called like an answer that is ticked; or a table of the column of each answer.
    ``missing`` are cells that stand for no answer; of its own the survey's, or a blank one.
    ``recode`` says of other cells what they stand for, ``ticks`` and ``unticked`` which cells are
    ticks, and which are none, where they are not as usual.
    """

    # Whether a person gives one of several answers, whose counts are wanted.
    draws_one: ClassVar[bool] = False
    # Whether it spends budgets of its own nature beside the other questions' ones.
    apart: ClassVar[bool] = False
    # Whether it may be one of the parts of a joint question.
    joins: ClassVar[bool] = False
    name: values.Name
    mechanism: str = BEST
    weight: values.Positive = 1.0
    targets: values.Several[Target] = pydantic.Field(default=(), alias="target")
    rounds: AskedAgain | None = None
    ask: values.Name | None = None
    columns: values.ColumnNames = ()
    missing: values.Codes | None = None
    recode: values.Recoding = ()
    ticks: values.Codes | None = None
    unticked: values.Codes | None = None

    @property
    def way(self) -> WayOfAsking:
        """The way of asking, by which answers are read."""
        raise NotImplementedError

    @property
    def plain_levels(self) -> Levels:
        """The levels as laws have them."""
        return self.way.levels

    @property
    def answer_column(self) -> AnswerColumn:
        """Where answers stand in a file, and what they mean."""
        return AnswerColumn(
            name=self.name,
            asked=self.way,
            columns=self.columns,
            missing=self.missing,
            ticks=self.ticks,
            unticked=self.unticked,
            labels=self.cell_labels,
            recoded=(self.recode,) if self.recode else (),
        )

    @property
    def cell_labels(self) -> Pairs:
        """Labels of answers, which cells may have in place of their names."""
        return ()

    @property
    def of_mean(self) -> bool:
        """Whether its error is that of a mean, in a unit of its own."""
        return False

    @property
    def together(self) -> tuple[Question, ...]:
        """The questions that one report of it answers: itself, or the parts of a joint one."""
        return (cast("Question", self),)

    @property
    def unit(self) -> str:
        """Of its error: ``"people"``, or ``"units of the question"`` for a mean."""
        return "units of the question" if self.of_mean else "people"

    def _check_file(self) -> None:
        """Refuse what is said of files of answers and cannot be."""
        if not (self.columns or self.recode):
            return
        column = self.answer_column
        if column.ticked and self.way.decimals:
            allowed = "one column for a number"
            remedy = "Name the column that holds it."
            raise wrong(list(column.names), allowed, remedy, "columns")
        for answer in column.stated_answers:
            if self.way.find(answer) is None:
                raise at("columns", error=self._no_answer(answer, "columns"))
        for cell, text in self.recode:
            if not self._is_answer(text):
                raise at("recode", error=self._no_answer(text, "recode"))
            if self.way.several and self.way.find(cell) is not None:
                allowed = "of cells that are no answer already"
                raise wrong(cell, allowed, "Leave it out.", "recode")

    def _is_answer(self, text: str) -> bool:
        try:
            self.way.read_cell(text)
        except InputError:
            return False
        return True

    def _no_answer(self, text: str, key: str) -> InputError:
        items = [item for level in self.plain_levels.items for item in level]
        if items and not self.of_mean:
            return InputError.unknown(key, text, items, "Name an answer of a level.")
        return InputError(key, text, "an answer to this question", "Correct it.")

    def _check_targets(self, levels: list[str]) -> None:
        for i, key, error in wrong_targets(self.targets, levels):
            raise at("target", i, key, error=error)


class Levelled(BaseQuestion):
    """A question with one or more levels of answers; no item is in two, no name given twice.

    ``rule`` is ``"min"``, ``"avg"``, ``"one-sided"`` or a matrix of pair budgets (see
    :class:`~planner.policy.policy.PrivacyPolicy`), in which ``""`` is the smaller of two levels'
    budgets and ``inf`` no protection. ``label`` has answers as people read them, where that is not
    their name.
    """

    first: ClassVar[tuple[str, ...]] = ("name", "levels", "rule")
    levels: values.Several[Level] = pydantic.Field(min_length=1, alias="level")
    rule: Annotated[RuleOf, pydantic.PlainValidator(values.read_rule)] = DEFAULT_RULE
    label: values.Labels = ()

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        check_items(self.levels)
        if isinstance(self.rule, tuple):
            epsilons = [level.epsilon for level in self.levels]
            self.__dict__["rule"] = tuple(
                tuple(_usual(cell, epsilons, i, j) for j, cell in enumerate(row))
                for i, row in enumerate(self.rule)
            )
        for i, level in enumerate(self.levels):
            if level.against is not None and self.rule != ONE_SIDED:
                remedy = f'Write rule = "{ONE_SIDED}", or delete it.'
                allowed = "left out: other rules limit both directions alike"
                raise wrong(level.against, allowed, remedy, "level", i, "against")
        _ = self.policy  # checks rule and matrix, once
        self._check_targets([level.name for level in self.levels])
        for i, level in enumerate(self.levels):
            wanted = level.item_count if self.apart else 0
            if len(level.yes_counts) != wanted:
                remedy = "Sampling Privacy alone expects, per value, how many people have it."
                allowed = (
                    "one count per item"
                    if wanted
                    else "left out unless 'sampled-choice'"
                )
                raise wrong(level.yes_counts, allowed, remedy, "level", i, "yes_counts")
        named = [item for level in self.levels for item in level.items]
        for answer in sorted({answer for answer, _ in self.label}.difference(named)):
            remedy = "Name the answer as its level does."
            raise at("label", error=InputError.unknown("label", answer, named, remedy))
        self._check()
        self._check_file()
        _ = self.objective
        return self

    @property
    def cell_labels(self) -> Pairs:
        """Labels of answers, which cells may have in place of their names."""
        return self.label

    def _check(self) -> None:
        """What a kind asks for besides."""

    @cached_property
    def plain_levels(self) -> Levels:
        """The levels as laws have them."""
        return replace(
            self.policy.plain(), items=tuple(level.items for level in self.levels)
        )

    @cached_property
    def way(self) -> WayOfAsking:
        """The way of asking, by which answers are read."""
        return Item(self.plain_levels)

    @property
    def ordered(self) -> tuple[str, ...]:
        """The answers, as listed."""
        return tuple(item for level in self.levels for item in level.items)

    @cached_property
    def objective(self) -> Objective:
        """Worst-case error, the expected one where levels have priors, or the worst item's."""
        importance = [level.importance for level in self.levels]
        alike = (
            len(set(importance)) == 1 and importance[0] > 0
        )  # of one beside the others
        weights = None if alike else importance
        priors = [level.prior for level in self.levels if level.prior is not None]
        if 0 < len(priors) < len(self.levels):
            allowed = "given for all levels of the question, or for none"
            remedy = "Give the missing priors, or delete them all to plan for the worst case."
            raise InputError("prior", priors, allowed, remedy)
        minimax = getattr(self, "criterion", "total") == "minimax"
        if minimax and priors:
            remedy = (
                "It keeps the worst answer's error small, whoever has which answer."
            )
            raise InputError(
                "prior", priors, 'left out with criterion = "minimax"', remedy
            )
        if not any(importance):
            allowed = "above 0 for one level or more"
            remedy = "Raise those of levels that matter."
            raise InputError("importance", importance, allowed, remedy)
        kind = "minimax" if minimax else "expected" if priors else "worst-case"
        objective = Objective(kind, weights, priors or None)
        _ = objective.coefficients(self.policy)  # checks both against the levels
        return objective

    @cached_property
    def policy(self) -> PrivacyPolicy:
        """The levels as a privacy policy."""
        return PrivacyPolicy(
            [level.epsilon for level in self.levels],
            [level.item_count for level in self.levels],
            self.rule,
            [level.name for level in self.levels],
            [one.against or inf for one in self.levels]
            if self.rule == ONE_SIDED
            else None,
        )


Criterion = Literal["total", "minimax"]


class Categorical(Levelled):
    """A question to which every person holds exactly one answer.

    ``criterion``: ``"total"`` keeps the error of all items together small, ``"minimax"`` that of
    the worst single item, where few people have it.

    Examples
    --------
    >>> levels = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=3))
    >>> Categorical("diagnosis", levels).policy.item_counts.tolist()
    [1, 3]
    """

    draws_one: ClassVar[bool] = True
    joins: ClassVar[bool] = True
    kind: Literal["categorical"] = "categorical"
    criterion: Criterion = "total"

    def _check(self) -> None:
        priors = [level.prior for level in self.levels if level.prior is not None]
        if len(priors) == len(self.levels) and abs(sum(priors) - 1) > 1e-6:
            allowed = f"of sum 1, not {sum(priors):g}"
            raise InputError(
                "prior", priors, allowed, "Everybody has exactly one answer."
            )


class Joint(Categorical):
    """Two or three questions of one answer each, asked together: one report says both answers.

    In a survey it names them, and they become its ``parts``: no questions of their own. Its answers
    are the cells, up to 1,000, named as ``"HIV / yes"``: any two sheets are as hard to tell apart
    as the parts in which they differ promise. Its levels are the kinds of cells with the same
    budgets against all others, its rule the matrix of these; where there are too many kinds, or
    nothing is gained, the pairs of the parts' levels, each at the smaller budget.

    Examples
    --------
    >>> parts = (Categorical("diagnosis", (Level("severe", 1.0, ("HIV", "flu")),)),
    ...          Categorical("smokes", (Level("any", 2.0, ("yes", "no")),)))
    >>> joint = Joint("both", ("diagnosis", "smokes"), parts=parts)
    >>> joint.ordered, joint.rule  # who knows the diagnosis may learn more of smoking
    (('HIV / yes', 'HIV / no', 'flu / yes', 'flu / no'), ((2.0, 1.0), (1.0, 2.0)))
    """

    first: ClassVar[tuple[str, ...]] = ("name", "of")
    joins: ClassVar[bool] = False
    kind: Literal["joint"] = "joint"  # type: ignore[assignment]
    of: values.Several[values.Name]
    parts: values.Several[Categorical] = ()
    levels: values.Several[Level] = pydantic.Field(default=(), alias="level")

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        if not 2 <= len(self.of) <= 3:
            raise wrong(
                self.of, "two or three questions", "Name those of a table.", "of"
            )
        if self.rounds is not None:
            raise wrong("given", "left out for 'joint'", "Ask it once.", "rounds")
        if not self.parts:  # until it is in a survey
            for key in sorted({"levels", "rule", "label"} & self.model_fields_set):
                remedy = (
                    "Levels, their rule and labels are those of the questions it is of."
                )
                raise wrong(
                    "given",
                    "left out for 'joint'",
                    remedy,
                    key.replace("levels", "level"),
                )
            return self
        if self.of != tuple(one.name for one in self.parts):
            raise wrong(
                "given", "the questions that it is of", "Leave them out.", "parts"
            )
        for part in self.parts:
            if len(part.columns) > 1 and not self.columns:
                allowed = "one column for a part of a joint question"
                remedy = f"Name its own columns in {self.name!r}."
                raise wrong(list(part.answer_column.names), allowed, remedy, "of")
        if "rule" not in self.model_fields_set:
            self.__dict__["rule"] = self.parts[0].rule
        if not self.levels:
            self._join()
        return super()._fits()  # type: ignore[operator]

    def _join(self) -> None:
        if {one.rule for one in self.parts} not in ({DEFAULT_RULE}, {ONE_SIDED}):
            remedy = "A pair of answers has the smaller budget: give both the rule min."
            allowed = f'of questions with one rule, "{DEFAULT_RULE}" or "{ONE_SIDED}"'
            raise wrong(self.of, allowed, remedy, "of")
        cells = prod(int(one.policy.item_counts.sum()) for one in self.parts)
        if cells > MAX_JOINT_CELLS:
            allowed = f"of at most {MAX_JOINT_CELLS:,} pairs of answers, not {cells:,}"
            raise wrong(self.of, allowed, "Merge answers of one of them.", "of")
        kinds = None
        if self.parts[0].rule == DEFAULT_RULE:
            kinds = kinds_of_cells([_budgets_of_answers(part) for part in self.parts])
        if kinds is not None:
            self.__dict__["levels"] = self._levels_of(kinds)
            self.__dict__["rule"] = tuple(map(tuple, kinds.budgets.tolist()))
            return
        self.__dict__["levels"] = tuple(
            Level(
                name=JOINED.join(level.name for level in levels),
                epsilon=min(level.epsilon for level in levels),
                items=tuple(
                    map(JOINED.join, product(*(level.labels for level in levels)))
                ),
                against=min(
                    filter(None, (level.against for level in levels)), default=None
                ),
            )
            for levels in product(*(one.levels for one in self.parts))
        )

    def _levels_of(self, kinds: Kinds) -> tuple[Level, ...]:
        """One level for each kind of cells, named by the answers or levels that these share."""
        cells = list(product(*(_levels_of_answers(part) for part in self.parts)))
        levels = []
        for numbers, budget in zip(kinds.cells, np.diag(kinds.budgets), strict=True):
            names = []
            for part in range(len(self.parts)):
                answers = {cells[number][part][0] for number in numbers}
                of_levels = dict.fromkeys(cells[number][part][1] for number in numbers)
                names.append(
                    answers.pop() if len(answers) == 1 else " or ".join(of_levels)
                )
            items = [
                JOINED.join(answer for answer, _ in cells[number]) for number in numbers
            ]
            name = JOINED.join(names)
            levels.append(Level(name=name, epsilon=float(budget), items=tuple(items)))
        return tuple(levels)

    def spent_on(self, bounds: Array) -> list[dict[str, float]]:
        """What reports say of each part, by its levels, where they keep these pair budgets.

        Of a level of a part the largest of ``bounds``, ``(levels, levels)``, between two cells
        that differ in this part and one of which has an answer of that level.

        Examples
        --------
        >>> parts = (Categorical("diagnosis", (Level("severe", 1.0, ("HIV", "flu")),)),
        ...          Categorical("smokes", (Level("any", 2.0, ("yes", "no")),)))
        >>> joint = Joint("both", ("diagnosis", "smokes"), parts=parts)
        >>> joint.spent_on(joint.policy.bounds())
        [{'severe': 1.0}, {'any': 2.0}]
        """
        cells = dict[str, tuple[tuple[str, str], ...]]()
        for cell in product(*(_levels_of_answers(part) for part in self.parts)):
            cells[JOINED.join(answer for answer, _ in cell)] = cell
        spent: list[dict[str, float]] = []
        for number, part in enumerate(self.parts):
            # The answers of this part that the cells of each level have.
            answers = [
                {cells[item][number] for item in one.items} for one in self.levels
            ]
            largest = {level.name: 0.0 for level in part.levels}
            for i, j in np.ndindex(bounds.shape):
                for answer, level in answers[i]:
                    if answers[j] != {(answer, level)}:
                        largest[level] = max(largest[level], float(bounds[i, j]))
            spent.append(largest)
        return spent

    @pydantic.model_serializer(mode="wrap")
    def _written(self, write: pydantic.SerializerFunctionWrapHandler) -> Document:
        derived = ("level", "rule", "label")
        found = {key: cell for key, cell in write(self).items() if key not in derived}
        return {"name": self.name, "kind": self.kind, **found}

    @property
    def answer_column(self) -> AnswerColumn:
        """Its own columns where it states them, else those of its parts, joined."""
        column = super().answer_column
        if not self.parts or (self.columns and len(self.columns) != len(self.parts)):
            return column
        parts = [part.answer_column for part in self.parts]
        missing = [cell for part in parts for cell in part.missing or ()]
        return column._replace(
            columns=column.columns or tuple(part.names[0] for part in parts),
            missing=self.missing or tuple(missing) or None,
            joined=True,
            recoded=tuple(map(_recoded, parts)),
        )

    @property
    def together(self) -> tuple[Question, ...]:
        """Its parts."""
        return self.parts


def _levels_of_answers(part: Categorical) -> list[tuple[str, str]]:
    """Each answer of a part with the name of its level."""
    return [(answer, level.name) for level in part.levels for answer in level.labels]


def _budgets_of_answers(part: Categorical) -> list[float]:
    """The budget of each answer of a part."""
    return [level.epsilon for level in part.levels for _ in level.labels]


def _recoded(part: AnswerColumn) -> Pairs:
    """What cells of a part stand for: labels, too, as a joint answer is made of names."""
    pairs = dict[str, str]()
    for answer, label in part.labels:
        if part.asked.find(label) is None:
            pairs[label] = answer
    for table in part.recoded:
        pairs |= dict(table)
    return tuple(pairs.items())


_LENGTH = "Leave it out to have the best one computed."


class ItemSet(Levelled):
    """A question to which every person holds a set of answers, which may be empty.

    ``criterion`` is as of :class:`Categorical`. ``padding_length`` is the size to which sets are
    padded or cut, 1 to 2^20; None to have the best one planned from what is known of the ``sets``.
    """

    kind: Literal["item-set"] = "item-set"
    criterion: Criterion = "total"
    padding_length: (
        Annotated[int, values.count(1, MAX_PADDING_LENGTH, _LENGTH)] | None
    ) = None
    sets: AssumedSets | None = None

    def _check(self) -> None:
        if self.policy.rule.directed:
            remedy = (
                "A set design promises one budget for any two sets: state it both ways."
            )
            allowed = "one that protects both directions alike, for item sets"
            raise wrong(self.policy.rule_name, allowed, remedy, "rule")
        if not (
            self.policy.rule.covers_sets or self.mechanism in ("best", "set-design")
        ):
            remedy = (
                "Set budgets (eq. 16 of the IDUE paper) are defined for the rule min alone; "
                "a set design keeps the smallest budget of any rule."
            )
            allowed = f'"min" for {self.mechanism!r}'
            raise wrong(self.policy.rule_name, allowed, remedy, "rule")

    @cached_property
    def way(self) -> WayOfAsking:
        """The way of asking, by which answers are read."""
        return OneOfSet(self.plain_levels, 1)

    @property
    def cap(self) -> float | None:
        """Budget of any two sets, in nats; None for the smallest pair budget."""
        return None if self.sets is None else self.sets.cap


class Ordinal(Levelled):
    """A question with exactly one answer of 2 to 256 named ones that have an order.

    ``order`` has all answers, the lowest first; empty if the levels list them so. ``scores`` say
    what each counts for in a mean, in this order; empty for no mean. ``wanted`` is what has a small
    total error: the ``"shares up to"`` each answer but the last, the ``"counts"`` of people with
    each, or the ``"mean of scores"`` alone, beside which nothing is estimated. ``no_answer`` is one
    of the answers, such as "don't know", outside the order and without a score: shares, quartiles
    and mean are of the others, and its own share is estimated.

    Examples
    --------
    >>> Ordinal("how often", [Level("any", 1.0, ["no", "yes"])], order=["no", "maybe"])
    Traceback (most recent call last):
    ...
    planner.errors.InputError: order is ('no', 'maybe') but must be each of 'no', 'yes' once. ...
    """

    kind: Literal["ordinal"] = "ordinal"
    mechanism: str = CHANNEL
    order: values.Answers = ()
    scores: values.Numbers = ()
    wanted: Literal["shares up to", "counts", "mean of scores"] = "shares up to"
    no_answer: values.Name | None = None

    @cached_property
    def way(self) -> Ordered:
        """The way of asking, by which answers are read."""
        places = {name: k for k, name in enumerate(super().ordered)}
        order = tuple(places[one] for one in self.ordered)
        outside = self.no_answer is not None
        scores = (*self.scores, 0.0) if self.scores and outside else self.scores
        return Ordered(self.plain_levels, order, scores, self.wanted, outside)

    @property
    def of_mean(self) -> bool:
        """Whether the mean of the scores is wanted, and nothing else."""
        return self.wanted == MEAN_OF_SCORES

    @property
    def ordered(self) -> tuple[str, ...]:
        """The answers, the lowest first; last the one outside the order."""
        listed = self.order or super().ordered
        last = self.no_answer
        return (*(one for one in listed if one != last), last) if last else listed

    @property
    def judged(self) -> list[str]:
        """The answers whose count is wanted, or the share up to them; of the last its own."""
        answers = list(self.ordered)
        if (
            self.wanted == SHARES_UP_TO
        ):  # what is up to the highest is known, or has no other
            del answers[-1 if self.no_answer is None else -2]
        return answers

    @property
    def radius(self) -> float:
        """Half the range of the scores."""
        return (max(self.scores) - min(self.scores)) / 2

    def _check(self) -> None:
        for i, level in enumerate(self.levels):
            if not level.items:
                remedy = "Name the answers: the lowest first."
                raise wrong((), "listed for 'ordinal'", remedy, "level", i, "items")
            if level.prior is not None:
                remedy = "Ordered answers are planned for whatever answers people have."
                raise wrong(
                    level.prior, "left out for 'ordinal'", remedy, "level", i, "prior"
                )
        answers = super().ordered
        if not 2 <= len(answers) <= MAX_ORDERED_ANSWERS:
            allowed = f"2 to {MAX_ORDERED_ANSWERS} for 'ordinal'"
            remedy = "Merge neighbouring brackets, or ask with the kind categorical."
            raise InputError("number of answers", len(answers), allowed, remedy)
        self._check_no_answer(answers)
        last = (
            [self.no_answer]
            if self.no_answer and self.no_answer not in self.order
            else []
        )
        if self.order and sorted([*self.order, *last]) != sorted(answers):
            allowed = f"each of {', '.join(map(repr, answers))} once"
            remedy = "List the answers of all levels, the lowest first."
            raise wrong(self.order, allowed, remedy, "order")
        self._check_scores(len(answers) - (self.no_answer is not None))
        judged = self.judged
        if not any(
            lv.importance for lv in self.levels if not set(lv.items).isdisjoint(judged)
        ):
            remedy = (
                "The share up to the highest answer is known; "
                "give a lower one some importance."
            )
            allowed = f"above 0 for one of {len(judged)} answers"
            raise InputError("importance", 0.0, allowed, remedy)

    def _check_no_answer(self, answers: tuple[str, ...]) -> None:
        if self.no_answer is None:
            return
        if self.no_answer not in answers:
            remedy = "List it in a level, which has its budget."
            raise at(
                "no_answer",
                error=InputError.unknown("", self.no_answer, answers, remedy),
            )
        if self.of_mean or len(answers) < 3:
            allowed = (
                f"left out for {self.wanted!r} of {len(answers) - 1} other answers"
            )
            remedy = 'Ask with wanted = "shares up to" and scores: the mean is estimated, too.'
            raise wrong(self.no_answer, allowed, remedy, "no_answer")

    def _check_scores(self, answers: int) -> None:
        remedy = "Give a score for each answer, in their order."
        if self.scores and (len(self.scores) != answers or len(set(self.scores)) == 1):
            allowed = f"{answers} finite numbers, two of them different"
            raise wrong(self.scores, allowed, remedy, "scores")
        if not self.of_mean:
            return
        if not self.scores:
            raise InputError(
                "scores", (), f"given for wanted = {self.wanted!r}", remedy
            )
        for i, level in enumerate(self.levels):
            if level.importance != 1:
                remedy = (
                    "A mean is one number; its scores say what each answer counts for."
                )
                allowed = f"left out for {self.wanted!r}"
                raise wrong(level.importance, allowed, remedy, "level", i, "importance")


class Sampling(Description):
    """What a sampled choice needs beyond its levels.

    ``relies_on`` is the view of the guarantee that a deployment relies on, ``acknowledged`` the
    sentence about it, word for word, without which nothing is written. ``cap`` is the largest
    sampling probability, above 0 and below 1 (0.45 is the paper's), ``floor`` the smallest
    ``pi_0``, below 1: people who stay at 0 hide the sampled ones. ``none_epsilon`` is the budget of
    the answer "none of the values", the levels' smallest if omitted; with ``everyone_has_value``
    nobody gives it, and output 0 needs no budget.
    """

    relies_on: values.Name
    acknowledged: str | None = None
    cap: Annotated[values.Share, pydantic.Field(gt=0, lt=1)] = 0.45
    floor: Annotated[values.Share, pydantic.Field(lt=1)] = 0.0
    none_epsilon: values.Budget | None = None
    everyone_has_value: bool = False


class SampledChoice(Levelled):
    """One answer or none, asked twice (Sampling Privacy); levels have ``yes_counts``."""

    apart: ClassVar[bool] = True
    kind: Literal["sampled-choice"] = "sampled-choice"
    mechanism: str = "sampling-privacy"
    rule: Literal["min"] = "min"
    rounds: None = None
    sampling: Sampling

    @cached_property
    def way(self) -> WayOfAsking:
        """The way of asking, by which answers are read."""
        return ItemOrNone(self.plain_levels, self.sampling.everyone_has_value)


class Numeric(BaseQuestion):
    """A question for a number from ``lower`` to ``upper`` (``yes_no``: one of these), or none.

    Attributes
    ----------
    epsilon:
        Budget that everybody is offered, in nats, above 0, at most 50; None while it is open.
    mean, sd:
        What is expected of all people's answers; planning checks their ranges.
    refusals:
        Share of people without an answer at any budget, below 1; a tenth if left out, or none
        beside ``preferences``.
    preferences:
        How much epsilon people tolerate; None if any.

    Examples
    --------
    >>> Numeric("age", 17, 90, epsilon=1.0).policy.names
    ('age',)
    """

    first: ClassVar[tuple[str, ...]] = ("name", "lower", "upper")
    levels: ClassVar[tuple[Level, ...]] = ()  # all numbers have one budget
    kind: Literal["numeric"] = "numeric"
    mechanism: str = BEST
    lower: values.Finite
    upper: values.Finite
    yes_no: bool = False
    epsilon: values.Budget | None = None
    mean: values.Finite | None = None
    sd: values.Finite | None = None
    refusals: Annotated[values.Share, pydantic.Field(lt=1)] | None = None
    preferences: AnyPreferences | None = None

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        _ = self.domain
        self._check_targets([])
        self._check_file()
        return self

    @property
    def of_mean(self) -> bool:
        """It is."""
        return True

    @cached_property
    def domain(self) -> NumericDomain:
        """The range."""
        return NumericDomain(self.lower, self.upper, self.yes_no)

    @cached_property
    def way(self) -> WayOfAsking:
        """The way of asking, by which answers are read."""
        return NumberOrNone.over(
            self.lower, self.upper, self.yes_no, 2, self.epsilon or 1.0
        )

    @property
    def radius(self) -> float:
        """Half the range."""
        return self.domain.radius

    @property
    def refusing(self) -> float:
        """Share of people without an answer at any budget, as stated or assumed."""
        usual = USUAL_MISSING if self.preferences is None else 0.0
        return usual if self.refusals is None else self.refusals

    @cached_property
    def policy(self) -> PrivacyPolicy:
        """One level with the question's name; an :class:`InputError` if it has no budget."""
        if self.epsilon is None:
            remedy = (
                f"Add {mark('epsilon')}, "
                f"or what people accept in {mark('[question.preferences]')}."
            )
            raise InputError(
                f"epsilon of question {self.name!r}", None, "given", remedy
            )
        return PrivacyPolicy([self.epsilon], [1], names=[self.name])


LevelledQuestion = Joint | Categorical | ItemSet | Ordinal | SampledChoice
# For annotations: a question of any kind, told apart by kind.
Question = LevelledQuestion | Numeric


_WHICH_KIND = (
    "Take categorical for one answer each, ordinal if the answers have an order, item-set for "
    "several, numeric for a mean, joint for two questions in one report."
)
QUESTIONS = named("kind", Categorical, ItemSet, SampledChoice, Numeric, Ordinal, Joint)
AnyQuestion = Annotated[
    Question, told_apart("kind", _WHICH_KIND, QUESTIONS, usual="categorical")
]


def _usual(cell: float | None, epsilons: list[float], i: int, j: int) -> float:
    if cell is not None:
        return cell
    return min(epsilons[min(k, len(epsilons) - 1)] for k in (i, j))
