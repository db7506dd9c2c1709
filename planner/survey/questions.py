"""What is asked: a survey of questions of five kinds, as frozen descriptions.

A survey file has the same tables and keys. Reading is ``model_validate`` and writing
``model_dump`` (:mod:`planner.survey.file`); nothing else knows the keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    Strict,
    Tag,
    model_serializer,
    model_validator,
)

from planner.errors import InputError
from planner.limits import MAX_PADDING_LENGTH
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.policy.rules import DEFAULT_RULE
from planner.survey.description import Description
from planner.survey.numeric_domain import NumericDomain
from planner.survey.preferences import AnyPreferences
from planner.survey.rounds import AskedAgain
from planner.survey.sets import AssumedSets, OnlyCap, PilotFile
from planner.survey.values import (
    Answers,
    Budget,
    Counts,
    Name,
    NotNegative,
    Number,
    Numbers,
    Share,
    at,
    one_of,
    read_count,
    read_prior,
    read_rule,
    told_apart,
)

KINDS = ("categorical", "item-set", "sampled-choice", "numeric", "ordinal")
ORDINAL = "ordinal"
"""One answer out of a few in order: brackets, ages, agreement from 1 to 5."""
SET_DESIGN = "set-design"
"""Asks for one report about the whole set."""
BEST = "best"
"""Asks for whichever mechanism has the smallest error; planning says which one that is."""
CHANNEL = "channel"
"""Asks for the best of all mechanisms for what is wanted: a mean, or shares of ordered answers."""
SHARES_UP_TO, COUNTS, MEAN_OF_SCORES = "shares up to", "counts", "mean of scores"
WANTED = (SHARES_UP_TO, COUNTS, MEAN_OF_SCORES)
MAX_ORDERED_ANSWERS = 16
"""Up to 16 answers the channel is proven to be the best, up to 24 to be within about 3 per cent of
it; above, planning takes ten seconds or more, and the bound may be 10 to 30 per cent off."""
DESIGNS = ("split", "one-each", "some-each")
CRITERIA = ("total", "minimax")
_LEAST_TARGET = 1e-12  # one person of the most that a survey has
_NUMBER = re.compile("[0-9]{1,12}")  # no question has more items
_KIND = (
    "Take categorical for one answer each, ordinal if the answers have an order, item-set for "
    "several, numeric for a mean."
)
Rule = str | tuple[tuple[float, ...], ...]


_UP_TO = "Leave it out for the shares of people up to each answer."
_USERS = "Say how many people will be asked, in digits."


def _read_length(value: object) -> int | None:
    remedy = "Leave it out to have the best one computed."
    return None if value is None else read_count(value, 1, MAX_PADDING_LENGTH, remedy)


def _read_prior(value: object) -> float | None:
    return None if value is None else read_prior(value)


def _read_asked(value: object) -> int | None:
    return None if value is None else read_count(value)


def _one_of_two(value: object) -> object:
    if (
        isinstance(value, dict)
        and value.keys() != {"cap"}
        and ("sizes" in value) == ("pilot" in value)
    ):
        given = value.get("sizes"), value.get("pilot")
        remedy = "Give the share of people with 0, 1, 2, ... items, or a file of transactions."
        raise InputError("(sizes, pilot)", given, "exactly one of the two", remedy)
    return value


def _sets_of(value: Any) -> str:
    if not isinstance(value, dict):
        return type(value).__name__
    if value.keys() == {"cap"}:
        return "OnlyCap"
    return "PilotFile" if "pilot" in value else "AssumedSets"


AnySets = Annotated[
    Annotated[AssumedSets, Tag("AssumedSets")]
    | Annotated[PilotFile, Tag("PilotFile")]
    | Annotated[OnlyCap, Tag("OnlyCap")],
    Discriminator(_sets_of),
]


class Level(Description):
    """A privacy level of a question.

    Attributes
    ----------
    name:
        Distinct within the question.
    epsilon:
        Budget in nats, above 0, at most 50.
    items:
        The answers in this level, distinct within the question; or empty, with ``item_count``
        given, while only their number is known.
    item_count:
        Number of answers, at least 1; that of ``items`` when they are given.
    yes_counts:
        For a sampled choice: how many people are expected to have each item.
    prior:
        How many of a person's answers are expected in this level, 0 to the number of items: a
        share of the people where everybody has one. For all levels of a question or none; with
        it the expected error is minimised, without it the worst case.
    importance:
        How much this level's error matters beside the other levels', at least 0.

    Examples
    --------
    >>> Level("severe", "ln 4", ["HIV", "cancer"]).item_count
    2
    """

    name: Name
    epsilon: Budget
    items: Answers = ()
    item_count: Annotated[int, PlainValidator(partial(read_count, remedy="Count the answers."))] = 0
    yes_counts: Counts = ()
    prior: Annotated[float | None, PlainValidator(_read_prior)] = None
    importance: NotNegative = 1.0

    @model_validator(mode="after")
    def _count(self) -> Self:
        if not self.items and not self.item_count:
            remedy = "List the level's items, or give their number as item_count."
            raise InputError("items", (), "not empty", remedy)
        if self.items and self.item_count not in (0, len(self.items)):
            allowed = f"the number of items listed, {len(self.items)}"
            remedy = "Leave item_count out: listed items are counted."
            error = InputError("item_count", self.item_count, allowed, remedy)
            raise at("item_count", error=error)
        self.__dict__["item_count"] = self.item_count or len(self.items)
        return self

    @model_serializer(mode="wrap")
    def _written(self, write: Callable[[Self], dict[str, Any]]) -> dict[str, Any]:
        return {
            key: cell for key, cell in write(self).items() if key != "item_count" or not self.items
        }

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers' names, or the level's with a number while only their number is known."""
        return self.items or tuple(f"{self.name} {k + 1}" for k in range(self.item_count))


class Target(Description):
    """A requirement on one question, in shares of the users (0.01 is one percentage point).

    Attributes
    ----------
    error:
        Largest acceptable error. Without a level: the root of the total mean squared error over
        all items, for the least favourable answers. With one: the standard error of the
        estimated share of a rare item of that level.
    detect:
        Smallest share of users at which an item must be told apart from one that nobody has
        (one-sided 95 % test, power 80 %). Without a level: every item. Either ``error`` or
        ``detect`` is given, from 1e-12 to below 1.
    level:
        Name of a level, or None for the whole question.

    Examples
    --------
    >>> Target(error=0.01, level="severe").text
    "standard error of a rare item of 'severe' at most 1 %"
    """

    error: Share | None = None
    detect: Share | None = None
    level: Name | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.error is None) == (self.detect is None):
            remedy = "Give the largest error, or the smallest share to detect; two targets if both."
            given = self.error, self.detect
            raise InputError("(error, detect)", given, "exactly one of the two", remedy)
        if not _LEAST_TARGET <= self.value < 1:
            allowed = f"a share from {_LEAST_TARGET:g} to below 1"
            error = InputError(self.kind, self.value, allowed, "Write 1 % of the people as 0.01.")
            raise at(self.kind, error=error)
        return self

    @property
    def kind(self) -> str:
        """``"error"`` or ``"detect"``."""
        return "detect" if self.error is None else "error"

    @property
    def of_all(self) -> bool:
        """Whether it is about the total error of the whole question."""
        return self.error is not None and self.level is None

    @property
    def value(self) -> float:
        """The number asked for, a share of the users."""
        return self.detect or 0.0 if self.error is None else self.error

    @property
    def text(self) -> str:
        """The requirement in words."""
        share = f"{100 * self.value:.4g} %"
        if self.kind == "detect":
            whose = "every item" if self.level is None else f"every item of {self.level!r}"
            return f"{whose} detectable from {share} of the users"
        if self.level is None:
            return f"total error at most {share} of the users"
        return f"standard error of a rare item of {self.level!r} at most {share}"


class Asked(Description):
    """What questions of all kinds have.

    Attributes
    ----------
    name:
        Distinct within the survey.
    mechanism:
        Name of the mechanism that is planned and deployed; the kind's usual one when left out.
    weight:
        Importance of this question's error among the survey's, above 0.
    targets:
        Errors that are small enough; of a mean shares of half its range, without levels.
    rounds:
        Of a question that is asked again.
    """

    tag: ClassVar[str] = "kind"
    name: Name
    mechanism: str = BEST
    weight: NotNegative = 1.0
    targets: Annotated[tuple[Target, ...], Strict(False)] = Field(
        default=(), validation_alias="target", serialization_alias="target"
    )
    rounds: AskedAgain | None = None

    @model_validator(mode="before")
    @classmethod
    def _usual(cls, document: Any) -> Any:
        """Without what is said to be as usual."""
        if isinstance(document, dict) and document.get("mechanism") == "":
            document = {key: value for key, value in document.items() if key != "mechanism"}
        return document

    @property
    def of_mean(self) -> bool:
        """Whether its error is that of a mean, in a unit of its own."""
        return False

    def _check_targets(self, levels: list[str]) -> None:
        for i, key, error in wrong_targets(self.targets, levels):
            raise at("target", i, key, error=error)


def wrong_targets(
    targets: Iterable[Target], levels: Sequence[str]
) -> Iterator[tuple[int, str, InputError]]:
    """Which target and key of it name no level, or contradict an earlier target."""
    seen: dict[tuple[str, str | None], float] = {}
    for i, target in enumerate(targets):
        if target.level is not None and target.level not in levels:
            remedy = "Name a level of the question, or leave it out for the whole question."
            error = InputError.unknown("level", target.level, levels, remedy)
            yield i, "level", error
        earlier = seen.setdefault((target.kind, target.level), target.value)
        if earlier != target.value:
            allowed = f"the same as the other target for it, {earlier:g}"
            remedy = "These targets contradict each other: keep the one that you need."
            error = InputError(target.kind, target.value, allowed, remedy)
            yield i, target.kind, error


class Levelled(Asked):
    """A question with levels of answers.

    Attributes
    ----------
    levels:
        At least one; no item is in two, and no name is given twice.
    rule:
        ``"min"``, ``"avg"`` or a symmetric matrix of pair budgets (see
        :class:`~planner.policy.policy.PrivacyPolicy`), in which ``""`` is the smaller of two
        levels' budgets and ``inf`` no protection.
    """

    first: ClassVar[tuple[str, ...]] = ("name", "levels", "rule")
    levels: Annotated[tuple[Level, ...], Strict(False)] = Field(
        validation_alias="level", serialization_alias="level"
    )
    rule: Annotated[Rule, PlainValidator(read_rule)] = DEFAULT_RULE

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not self.levels:
            remedy = "Add a level with a name, a budget and items."
            raise at("level", error=InputError("level", (), "a list of one or more", remedy))
        _check_items(self.levels)
        if isinstance(self.rule, tuple):
            epsilons = [level.epsilon for level in self.levels]
            self.__dict__["rule"] = tuple(
                tuple(_usual(cell, epsilons, i, j) for j, cell in enumerate(row))
                for i, row in enumerate(self.rule)
            )
        _ = self.policy  # checks rule and matrix, once
        self._check_targets([level.name for level in self.levels])
        self._check_yes_counts()
        self._check()
        return self

    def _check(self) -> None:
        """What a kind asks for besides."""
        _ = self.objective

    def _check_yes_counts(self) -> None:
        for i, level in enumerate(self.levels):
            if level.yes_counts:
                remedy = "Sampling Privacy alone expects, per value, how many people have it."
                allowed = "left out unless kind is 'sampled-choice'"
                error = InputError("yes_counts", level.yes_counts, allowed, remedy)
                raise at("level", i, "yes_counts", error=error)

    @property
    def ordered(self) -> tuple[str, ...]:
        """The answers, as listed."""
        return tuple(item for level in self.levels for item in level.items)

    @cached_property
    def objective(self) -> Objective:
        """Worst-case error, the expected one where levels have priors, or the worst item's."""
        importance = [level.importance for level in self.levels]
        weights = None if set(importance) <= {1.0} else importance
        priors = [level.prior for level in self.levels if level.prior is not None]
        minimax = getattr(self, "criterion", "total") == "minimax"
        if priors and minimax:
            remedy = "The error of the worst item does not depend on shares."
            raise InputError("prior", priors, "left out for the criterion 'minimax'", remedy)
        if priors and len(priors) < len(self.levels):
            allowed = "given for all levels of the question, or for none"
            remedy = "Give the missing priors, or delete them all to plan for the worst case."
            raise InputError("prior", priors, allowed, remedy)
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
        )


Criterion = Annotated[str, one_of(CRITERIA, "Leave it out to keep the sum of all errors small.")]


class Categorical(Levelled):
    """A question to which every person holds exactly one answer.

    ``criterion``: ``"total"`` keeps the error of all items together small, ``"minimax"`` that of
    the worst single item.

    Examples
    --------
    >>> levels = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=3))
    >>> Categorical("diagnosis", levels).policy.item_counts.tolist()
    [1, 3]
    """

    kind: Literal["categorical"] = "categorical"
    criterion: Criterion = "total"

    def _check(self) -> None:
        priors = [level.prior for level in self.levels if level.prior is not None]
        if len(priors) == len(self.levels) and abs(sum(priors) - 1) > 1e-6:
            allowed = f"of sum 1, not {sum(priors):g}"
            raise InputError("prior", priors, allowed, "Everybody has exactly one answer.")
        _ = self.objective


class ItemSet(Levelled):
    """A question to which every person holds a set of answers, which may be empty.

    Attributes
    ----------
    criterion:
        As of :class:`Categorical`.
    padding_length:
        The size to which sets are padded or cut, 1 to 2^20; None to have the best one planned.
    sets:
        What is known of the sets, a histogram of sizes or a pilot: the length follows from it.
    """

    kind: Literal["item-set"] = "item-set"
    criterion: Criterion = "total"
    padding_length: Annotated[int | None, PlainValidator(_read_length)] = None
    sets: Annotated[AnySets | None, BeforeValidator(_one_of_two)] = None

    def _check(self) -> None:
        if not (self.policy.rule.covers_sets or self.mechanism in ("best", "set-design")):
            remedy = (
                "Set budgets (eq. 16 of the IDUE paper) are defined for the rule min alone; "
                "a set design keeps the smallest budget of any rule."
            )
            allowed = f'"min" for {self.mechanism!r}'
            raise at("rule", error=InputError("rule", self.policy.rule_name, allowed, remedy))
        _ = self.objective

    @property
    def cap(self) -> float | None:
        """Budget of any two sets, in nats; None for the smallest pair budget."""
        return None if self.sets is None else self.sets.cap


class Ordinal(Levelled):
    """A question with exactly one answer of 2 to 32 named ones that have an order.

    Attributes
    ----------
    order:
        All answers, the lowest first; empty if the levels list them in their order.
    scores:
        What each answer counts for in a mean, in the order of the answers; empty for no mean.
    wanted:
        Of which the total error is made small. ``"shares up to"``: of the shares of people up to
        each answer but the last; ``"counts"``: of the number of people with each. The importance
        of an answer's level is that of its share or its count. ``"mean of scores"``: of the mean
        alone, and nothing else is estimated.

    Examples
    --------
    >>> Ordinal("how often", [Level("any", 1.0, ["no", "yes"])], order=["no", "maybe"])
    Traceback (most recent call last):
    ...
    planner.errors.InputError: order is ('no', 'maybe') but must be each of 'no', 'yes' once. ...
    """

    kind: Literal["ordinal"] = "ordinal"
    mechanism: str = CHANNEL
    order: Answers = ()
    scores: Numbers = ()
    wanted: Annotated[str, one_of(WANTED, _UP_TO)] = SHARES_UP_TO

    @property
    def of_mean(self) -> bool:
        """Whether the mean of the scores is wanted, and nothing else."""
        return self.wanted == MEAN_OF_SCORES

    @property
    def ordered(self) -> tuple[str, ...]:
        """The answers, the lowest first."""
        return self.order or super().ordered

    @property
    def radius(self) -> float:
        """Half the range of the scores."""
        return (max(self.scores) - min(self.scores)) / 2

    def _check(self) -> None:
        for i, level in enumerate(self.levels):
            if not level.items:
                remedy = "Name the answers: the lowest first."
                raise at("level", i, error=InputError("items", (), "listed for 'ordinal'", remedy))
            if level.prior is not None:
                remedy = "Ordered answers are planned for whatever answers people have."
                error = InputError("prior", level.prior, "left out for 'ordinal'", remedy)
                raise at("level", i, "prior", error=error)
        answers = super().ordered
        if not 2 <= len(answers) <= MAX_ORDERED_ANSWERS:
            allowed = f"2 to {MAX_ORDERED_ANSWERS} for 'ordinal'"
            remedy = "Merge neighbouring brackets, or ask with the kind categorical."
            raise InputError("number of answers", len(answers), allowed, remedy)
        if self.order and sorted(self.order) != sorted(answers):
            allowed = f"each of {', '.join(map(repr, answers))} once"
            remedy = "List the answers of all levels, the lowest first."
            raise at("order", error=InputError("order", self.order, allowed, remedy))
        self._check_scores(len(answers))
        judged = self.ordered[:-1] if self.wanted == SHARES_UP_TO else answers
        if not any(lv.importance for lv in self.levels if not set(lv.items).isdisjoint(judged)):
            remedy = (
                "The share up to the highest answer is known; give a lower one some importance."
            )
            allowed = f"above 0 for one of {len(judged)} answers"
            raise InputError("importance", 0.0, allowed, remedy)
        _ = self.objective

    def _check_scores(self, answers: int) -> None:
        remedy = "Give a score for each answer, in their order."
        if self.scores and (len(self.scores) != answers or len(set(self.scores)) == 1):
            allowed = f"{answers} finite numbers, two of them different"
            raise at("scores", error=InputError("scores", self.scores, allowed, remedy))
        if not self.of_mean:
            return
        if not self.scores:
            raise InputError("scores", (), f"given for wanted = {self.wanted!r}", remedy)
        for i, level in enumerate(self.levels):
            if level.importance != 1:
                remedy = "A mean is one number; its scores say what each answer counts for."
                allowed = f"left out for {self.wanted!r}"
                error = InputError("importance", level.importance, allowed, remedy)
                raise at("level", i, "importance", error=error)


class Sampling(Description):
    """What a sampled choice needs beyond its levels.

    Attributes
    ----------
    relies_on:
        View of the guarantee that a deployment relies on.
    acknowledged:
        The sentence about that view, word for word; without it nothing is written.
    cap:
        Largest sampling probability, above 0 and below 1; 0.45 (the paper's choice) keeps a sampled
        person in the minority.
    floor:
        Smallest ``pi_0``, at least 0 and below 1: people who stay at 0 hide the sampled ones in
        round one.
    none_epsilon:
        Budget of the answer "none of the values"; the smallest of the levels' if omitted.
    everyone_has_value:
        True only if "none of the values" cannot be an answer; then output 0 needs no budget.
    """

    relies_on: Name
    acknowledged: str | None = None
    cap: Share = 0.45
    floor: Share = 0.0
    none_epsilon: Budget | None = None
    everyone_has_value: bool = False


class SampledChoice(Levelled):
    """One answer or none, asked twice (Sampling Privacy); levels have ``yes_counts``."""

    kind: Literal["sampled-choice"] = "sampled-choice"
    mechanism: str = "sampling-privacy"
    sampling: Sampling

    def _check_yes_counts(self) -> None:
        for i, level in enumerate(self.levels):
            if len(level.yes_counts) != level.item_count:
                remedy = "Sampling Privacy expects, per value, how many people have it."
                error = InputError("yes_counts", level.yes_counts, "one count per item", remedy)
                raise at("level", i, "yes_counts", error=error)

    def _check(self) -> None:
        if self.rounds is not None:
            remedy = "Its two rounds are one collection: plan each collection apart."
            error = InputError("rounds", self.rounds, "left out for 'sampled-choice'", remedy)
            raise at("rounds", error=error)
        if self.rule != DEFAULT_RULE:
            remedy = "Sampling Privacy tells two answers apart by the larger of their budgets."
            error = InputError("rule", self.rule, "left out for 'sampled-choice'", remedy)
            raise at("rule", error=error)
        for name, low in (("cap", 0), ("floor", -1)):
            share = getattr(self.sampling, name)
            if not low < share < 1:
                allowed = f"{'above 0' if low == 0 else 'at least 0'} and below 1"
                remedy = "Give a probability, such as 0.45 for the cap and 0.1 for the floor."
                raise at("sampling", name, error=InputError(name, share, allowed, remedy))


class Numeric(Asked):
    """A question for a number, or no answer.

    The ranges of ``mean`` and ``sd`` are those of
    :class:`planner.planning.mean.AnswerRateModel`, which checks them.

    Attributes
    ----------
    lower, upper:
        Smallest and largest answer.
    yes_no:
        The only answers are ``lower`` ("no") and ``upper`` ("yes").
    epsilon:
        Budget that everybody is offered, in nats, above 0, at most 50; None while it is open.
    mean, sd:
        What is expected of all people's answers.
    preferences:
        How much epsilon people tolerate; None if everybody answers.

    Examples
    --------
    >>> Numeric("age", 17, 90, epsilon=1.0).policy.names
    ('age',)
    """

    first: ClassVar[tuple[str, ...]] = ("name", "lower", "upper")
    kind: Literal["numeric"] = "numeric"
    mechanism: str = BEST
    lower: Number
    upper: Number
    yes_no: bool = False
    epsilon: Budget | None = None
    mean: Number | None = None
    sd: Number | None = None
    preferences: AnyPreferences | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _ = self.domain
        self._check_targets([])
        return self

    @property
    def levels(self) -> tuple[Level, ...]:
        """None: all numbers have one budget."""
        return ()

    @property
    def of_mean(self) -> bool:
        """It is."""
        return True

    @cached_property
    def domain(self) -> NumericDomain:
        """The range."""
        return NumericDomain(self.lower, self.upper, self.yes_no)

    @property
    def radius(self) -> float:
        """Half the range."""
        return self.domain.radius

    @cached_property
    def policy(self) -> PrivacyPolicy:
        """One level with the question's name.

        Raises
        ------
        InputError
            It has no budget.
        """
        if self.epsilon is None:
            remedy = "Add epsilon, or [question.preferences] to have the best budget found."
            raise InputError(f"epsilon of question {self.name!r}", None, "given", remedy)
        return PrivacyPolicy([self.epsilon], [1], names=[self.name])


LevelledQuestion = Categorical | ItemSet | Ordinal | SampledChoice
Question = LevelledQuestion | Numeric
"""For annotations: a question of any kind, told apart by ``kind``."""


def _kind_of(question: Any) -> str:
    kind = question.get("kind", "categorical") if isinstance(question, dict) else ""
    return getattr(question, "kind", "categorical") if not kind else str(kind)


AnyQuestion = Annotated[
    Annotated[Categorical, Tag("categorical")]
    | Annotated[ItemSet, Tag("item-set")]
    | Annotated[SampledChoice, Tag("sampled-choice")]
    | Annotated[Numeric, Tag("numeric")]
    | Annotated[Ordinal, Tag("ordinal")],
    Discriminator(_kind_of),
    told_apart("kind", KINDS, _KIND, usual="categorical"),
]


class Survey(Description):
    """A named set of questions asked of ``users`` people.

    Attributes
    ----------
    name, users, questions:
        At least one question and one user; names of questions differ.
    design:
        ``"split"`` (everybody answers everything and each question gets a share of the budgets),
        ``"one-each"`` (everybody answers one question at its full budget) or ``"some-each"``
        (everybody answers ``asked`` questions, each with an even part of its budgets).
    ledger:
        File of earlier collections from the same people, or None.
    asked:
        For ``"some-each"``, and only for it: how many questions each person answers, 1 to all that
        share the budgets; None to plan with the best number.
    """

    name: Name
    users: Annotated[int, PlainValidator(partial(read_count, remedy=_USERS))]
    questions: Annotated[tuple[AnyQuestion, ...], Strict(False)] = Field(
        validation_alias="question", serialization_alias="question"
    )
    design: Annotated[str, one_of(DESIGNS, "Leave it out for the usual one.")] = "split"
    ledger: str | None = None
    asked: Annotated[int | None, PlainValidator(_read_asked)] = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not self.questions:
            raise at("question", error=InputError("question", (), "one or more", "Add a question."))
        seen: set[str] = set()
        for i, question in enumerate(self.questions):
            if question.name in seen:
                allowed, remedy = "different from every other question's", "Rename one of the two."
                error = InputError("name", question.name, allowed, remedy)
                raise at("question", i, "name", error=error)
            seen.add(question.name)
        self._check_aims()
        return self

    def _check_aims(self) -> None:
        if self.asked is not None:
            if self.design != "some-each":
                remedy = 'Set design = "some-each", or leave it out.'
                error = InputError(
                    "asked", self.asked, "given for the design some-each alone", remedy
                )
                raise at("asked", error=error)
            sharing = sum(question.kind != "sampled-choice" for question in self.questions)
            if self.asked > max(1, sharing):
                allowed = f"at most {max(1, sharing)}, the number of questions"
                error = InputError("asked", self.asked, allowed, "Leave it out for the best.")
                raise at("asked", error=error)
        for i, question in enumerate(self.questions):
            if question.weight == 0:
                remedy = "Leave a question that does not matter out of the survey."
                raise at("question", i, "weight", error=InputError("weight", 0, "above 0", remedy))


def _check_items(levels: tuple[Level, ...]) -> None:
    """Names and items differ; items that go by their number have no name like one."""
    home: dict[str, str] = {}
    names: set[str] = set()
    total = sum(level.item_count for level in levels)
    numbered = not all(level.items for level in levels)
    for i, level in enumerate(levels):
        if level.name in names:
            remedy = "Rename one of the two, or merge them."
            error = InputError("name", level.name, "different from every other level's", remedy)
            raise at("level", i, "name", error=error)
        names.add(level.name)
        for k, item in enumerate(level.items):
            if item in home:
                allowed = f"in one level only; it is in {home[item]!r} already"
                error = InputError("item", item, allowed, "Delete it here or there.")
                raise at("level", i, "items", k, error=error)
            if numbered and _NUMBER.fullmatch(item) and int(item) < total:
                allowed = "no number, as items of other levels go by theirs"
                error = InputError("item", item, allowed, "Name all items, or none.")
                raise at("level", i, "items", k, error=error)
            home[item] = level.name


def _usual(cell: float | None, epsilons: list[float], i: int, j: int) -> float:
    if cell is not None:
        return cell
    return min(epsilons[min(k, len(epsilons) - 1)] for k in (i, j))
