"""From sums to estimates: one table for all questions, raw and post-processed side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import pyarrow as pa

from planner.deployment.collecting.attending import attention_rows
from planner.deployment.collecting.estimate_tables import (
    ASKED,
    POPULATION,
    RowsName,
    table_of,
)
from planner.deployment.collecting.relations import (
    cross_tables,
    margin_rows,
    pair_rows,
    related_rows,
)
from planner.deployment.collecting.reports import Sums
from planner.deployment.collecting.rounds import round_rows
from planner.deployment.collecting.weighting import GroupWeights, weighted_rows
from planner.deployment.parameters import Parameters
from planner.errors import InputError
from planner.estimates.cross_table import CrossTable
from planner.estimates.distribution import smoothed_shares
from planner.estimates.rows import (
    SMOOTHED,
    AnswerRows,
    differences,
    joined,
    population_rows,
    smoothed_rows,
)
from planner.limits import CONFIDENCE
from planner.mechanisms.anchored import counts_of_question
from planner.mechanisms.asking import CollectedLaw, OrderedCollected
from planner.mechanisms.counting import Aggregate, stacked

COLLECTION = "collection"  # of which of two a row is


def estimates_table(
    parameters: Parameters,
    sums: Sums,
    confidence: float = CONFIDENCE,
    window: int = 3,
    set_sizes: Mapping[str, str] | None = None,
    grouped: tuple[str, Mapping[str, Sums]] | None = None,
    population: bool | None = None,
) -> pa.Table:
    """Estimates of every question that has reports, a row per answer or quantity.

    Parameters
    ----------
    parameters:
        Verified parameters.
    sums:
        Counts by question and round.
    confidence:
        Of the intervals, above 0 and below 1.
    window:
        Rounds of a moving average, at least 1, where a question is asked again.
    set_sizes:
        For questions about sets, by name, the ordinal one that asked for the number of items. What
        it says replaces what the parameters state of sets that are cut.
    grouped:
        A known variable, with the counts of each of its values: each has its own rows after those
        of all, then what is weighted by it, then the difference of every two.
    population:
        Whether limits are for the population from which the people were drawn at random; else of
        the people asked. None: as the survey says, and of the population where which questions a
        person is asked is drawn.

    Raises
    ------
    InputError
        There are no reports, the two rounds of a question do not fit, or ``set_sizes`` names a
        question that is unknown, of another kind, or without reports.
    """
    if population is None and parameters.document.get("limits") == POPULATION:
        population = True
    sizes = dict(set_sizes or {})
    estimating = _Estimating(parameters, sizes, window, confidence, population)
    check_set_sizes(parameters, sizes)
    of_all = estimating.answered(sums)
    if grouped is not None:
        of_all = of_all.without_groups(parameters)
    if not of_all.rows:
        reason = "no report was counted"
        raise InputError.because("reports", reason, "Collect reports first.")
    tables = list(estimating.tables(of_all))
    if grouped is not None:
        tables += estimating.group_tables(grouped[0], grouped[1])
    return pa.concat_tables(tables)


@dataclass(frozen=True, slots=True)
class _Answered:
    """The rows of each question that has reports, and the tables of every two parts of a joint one.

    Attributes
    ----------
    rows:
        By the question's name, and of which rounds or part of it they are.
    related:
        Each with the joint question's name.
    curves:
        The smoothed curve of each number whose distribution is asked for, by its name.
    attending:
        Of each question with an anchor who attends, and its rows if all did.
    """

    rows: dict[RowsName, AnswerRows]
    related: list[tuple[str, CrossTable]]
    curves: dict[str, AnswerRows]
    attending: dict[RowsName, AnswerRows]

    def without_groups(self, parameters: Parameters) -> _Answered:
        """These results, with the reason where a question's groups have no rows of their own."""
        rows = {}
        for name, of_question in self.rows.items():
            rows[name] = _not_by_group(parameters.question(name[0]), of_question)
        return replace(self, rows=rows)


@dataclass(frozen=True, slots=True)
class _Estimating:
    """How a collection is estimated: the arguments of :func:`estimates_table`."""

    parameters: Parameters
    sizes: dict[str, str]
    window: int
    confidence: float
    population: bool | None

    def answered(self, sums: Sums, *, of_group: bool = False) -> _Answered:
        """Everything that these counts tell.

        Of a group those questions are left out that promise something of estimates of all people
        alone.
        """
        rows: dict[RowsName, AnswerRows] = {}
        related: list[tuple[str, CrossTable]] = []
        curves: dict[str, AnswerRows] = {}
        attending: dict[RowsName, AnswerRows] = {}
        for question in self.parameters.questions:
            name = question.name
            law = question
            # A Sampling Privacy guarantee counts people who have each value. Releasing
            # estimates of parts as well would tell more than it was proven for.
            if of_group and law.shape.people_needed:
                continue
            if name in self.sizes:
                of_sizes = self.parameters.question(self.sizes[name])
                law = _with_sizes(question, of_sizes, sums)
            # Rounds are estimated one by one, as their averages and changes need the
            # variance of each.
            if law.again is not None:
                by_round = _by_round(law, sums)
                named = round_rows(law, by_round, self.window, self.confidence)
                for what, of_rounds in named:
                    rows[name, what] = of_rounds
                continue
            counted = _rounds(law, sums)
            if not counted:
                continue
            of_all = law.rows(counted, self.confidence)
            rows[name, ""] = _with_too_few(law, of_all)
            if name in self.parameters.joint:
                tables = cross_tables(self.parameters, law, counted[0], self.confidence)
                for part, of_part in margin_rows(tables).items():
                    rows[name, part] = of_part
                for table in tables:
                    related.append((name, table))
            curves |= _smoothed_curve(law, rows[name, ""], counted[0])
            attending |= attention_rows(law, sums, rows[name, ""], self.confidence)
        return _Answered(rows, related, curves, attending)

    def tables(self, answered: _Answered, group: str = "") -> Iterator[pa.Table]:
        """Tables of what was answered: each question's rows, attention, relations, smoothed curves.

        ``group`` names the people whom they are about; all people if empty.
        """
        for name, rows in answered.rows.items():
            yield self._limited(name, rows, group)
        # Who does not attend is estimated across people, which is a statement about
        # whoever would be drawn, and not about those asked alone.
        for name, rows in answered.attending.items():
            yield table_of(name, rows, group, limits=POPULATION)
        for question, table in answered.related:
            yield from self._relation_tables(question, table, group)
        for question, curve in answered.curves.items():
            yield table_of((question, SMOOTHED), curve, group)

    def group_tables(
        self, variable: str, parts: Mapping[str, Sums]
    ) -> Iterator[pa.Table]:
        """Rows of each value of a known group, then weighted ones, and differences of two."""
        rows_of_values: dict[str, dict[RowsName, AnswerRows]] = {}
        for value, sums in parts.items():
            answered = self.answered(sums, of_group=True)
            rows_of_values[value] = answered.rows
            yield from self.tables(answered, f"{variable} = {value}")
        names: dict[RowsName, None] = {}  # each once, in their order
        for rows_of in rows_of_values.values():
            names |= dict.fromkeys(rows_of)
        weights = GroupWeights.of(self.parameters, variable)
        for name in names:
            by_value = {}
            for value, rows_of in rows_of_values.items():
                if name in rows_of:
                    by_value[value] = rows_of[name]
            if weights is not None:
                rows = self._weighted(name, weights, by_value, parts)
                if rows is not None:
                    group = f"weighted by {variable}"
                    yield table_of(name, rows, group, limits=POPULATION)
            # Two groups are different people, so that the variance of the difference is
            # the sum of both (Cochran, 1977).
            for first, second in combinations(by_value, 2):
                between = f"{variable}: {first} less {second}"
                gap, p = differences(by_value[first], by_value[second], self.confidence)
                yield table_of(name, gap, between, p, POPULATION)

    def _limited(self, name: RowsName, rows: AnswerRows, group: str) -> pa.Table:
        """Rows with limits for the people asked, or for the population if that is wanted."""
        question, _ = name
        population = self.population
        if population is None:
            # Those who are asked are then drawn at random from everybody, who are the survey's.
            drawing = self.parameters.drawing
            population = drawing is not None and question in drawing.names
        if not population:
            return table_of(name, rows, group, limits=ASKED)
        drawn = population_rows(rows, self.confidence)
        return table_of(name, drawn, group, limits=POPULATION)

    def _relation_tables(
        self, question: str, table: CrossTable, group: str
    ) -> Iterator[pa.Table]:
        """How two answers go together; but for people of each pair, of people drawn at random."""
        # With two parts the pairs are the joint question's own answers, which have
        # their rows already.
        if len(self.parameters.joint[question]) > 2:
            part, rows = pair_rows(table)
            yield self._limited((question, part), rows, group)
        for part, rows, p in related_rows(table):
            yield table_of((question, part), rows, group, p, POPULATION)

    def _weighted(
        self,
        name: RowsName,
        weights: GroupWeights,
        by_value: Mapping[str, AnswerRows],
        parts: Mapping[str, Sums],
    ) -> AnswerRows | None:
        """A question's rows weighted by a known group; None where nobody who counts reported."""
        question, part = name
        law = self.parameters.question(question)
        counted: dict[str, list[Aggregate]] = {}
        if not part:
            for value in by_value:
                counted[value] = _rounds(law, parts[value])
        return weighted_rows(law, weights, by_value, counted, self.confidence)


def difference_table(
    first: tuple[Parameters, Sums],
    second: tuple[Parameters, Sums],
    confidence: float = CONFIDENCE,
    names: tuple[str, str] = ("first", "second"),
    *,
    of_group: bool = False,
) -> pa.Table:
    """First less second of two collections of the same questions from independent people.

    After the differences of a question, which have a ``p``, stand the estimates of both
    collections. All limits are for the populations from which the people were drawn.

    Parameters
    ----------
    first, second:
        Parameters and counts of each collection.
    confidence:
        Of the intervals, above 0 and below 1.
    names:
        What the collections are called, such as ``("last year", "this year")``.
    of_group:
        Whether they are a part of the people: what promises something of all alone is left out.

    Raises
    ------
    InputError
        No question, with the same answers, has reports in both.
    """
    answered = []
    for parameters, sums in (first, second):
        # A difference of two collections is of interest beyond those asked: with limits
        # for them alone, two samples of one population would differ.
        estimating = _Estimating(parameters, {}, 1, confidence, population=True)
        answered.append(estimating.answered(sums, of_group=of_group).rows)
    of_first, of_second = answered
    tables = []
    for name, rows in of_first.items():
        other = of_second.get(name)
        # Other answers, or another order of them, would subtract shares of different
        # things.
        if other is None or list(rows.answers) != list(other.answers):
            continue
        gap, p = differences(rows, other, confidence)
        between = f"{COLLECTION}s: {names[0]} less {names[1]}"
        tables.append(table_of(name, gap, between, p, POPULATION))
        for called, of_collection in zip(names, (rows, other), strict=True):
            drawn = population_rows(of_collection, confidence)
            group = f"{COLLECTION} = {called}"
            tables.append(table_of(name, drawn, group, limits=POPULATION))
    if not tables:
        reason = "no question with the same answers has reports in both collections"
        remedy = "Compare collections of one survey."
        raise InputError.because("questions", reason, remedy)
    return pa.concat_tables(tables)


def in_one_table(by_part: Mapping[str, pa.Table]) -> pa.Table:
    """Tables of the same columns under each other; ``group`` begins with the part it is of.

    Examples
    --------
    >>> part = pa.table({"group": ["collection = may"]})
    >>> in_one_table({"": part, "region = north": part})["group"].to_pylist()
    ['collection = may', 'region = north, collection = may']
    """
    tables = []
    for part, table in by_part.items():
        if not part:
            tables.append(table)
            continue
        groups = [f"{part}, {group}" for group in table["group"].to_pylist()]
        position = table.column_names.index("group")
        column = pa.array(groups, pa.string())
        tables.append(table.set_column(position, "group", column))
    return pa.concat_tables(tables)


def _smoothed_curve(
    law: CollectedLaw, rows: AnswerRows, counted: Aggregate
) -> dict[str, AnswerRows]:
    """Rows of the smoothed curve, by the question's name, where a distribution is asked for."""
    asked = law.asked
    if not isinstance(asked, OrderedCollected) or asked.edges is None:
        return {}
    report_law = law.shape.estimate(counted).law
    # A row of the matrix for each cell, in their order, and one for no answer.
    matrix = report_law.matrix[list(asked.order)]
    # Without post-processing of the counts, as the smoothing is a likelihood of what
    # was really counted.
    smoothed = smoothed_shares(matrix, counted.counts, asked.cells)
    curve = smoothed_rows(rows, asked.edges, smoothed)
    return {law.name: curve}


def check_set_sizes(parameters: Parameters, set_sizes: Mapping[str, str]) -> None:
    """InputError if :func:`estimates_table` cannot use these, before anything is counted."""
    for of_sets, of_sizes in set_sizes.items():
        parameters.question(of_sets).asked.with_sizes(())
        law = parameters.question(of_sizes)
        law.asked.set_sizes()
        if law.again is not None:
            allowed = "a question that is not asked again"
            remedy = "Ask for the number of items once."
            raise InputError("set_sizes", of_sizes, allowed, remedy)


def _not_by_group(law: CollectedLaw, rows: AnswerRows) -> AnswerRows:
    """The rows of everybody, with the reason where groups have none of their own."""
    if not law.shape.people_needed:
        return rows
    reason = (
        "not by group: what is promised is of estimates of all people, released once"
    )
    notes = [joined(note, reason) for note in rows.notes]
    return replace(rows, notes=notes)


def _with_too_few(law: CollectedLaw, rows: AnswerRows) -> AnswerRows:
    """A remark on each value that fewer people seem to have than the guarantee counts on."""
    notes = list(rows.notes)
    for value, needed in enumerate(law.shape.people_needed, start=1):
        if rows["upper"][value] < needed:
            name = rows.answers[value]
            reason = (
                f"fewer people seem to have {name!r} than the {needed:,} that the guarantee "
                "counts on: do not release these estimates"
            )
            notes[value] = joined(notes[value], reason)
    return replace(rows, notes=notes)


def _by_round(law: CollectedLaw, sums: Sums) -> dict[int, Aggregate]:
    """The sums of the rounds that have reports, of a question that is asked again."""
    by_round = {}
    for number in law.rounds:
        if number is not None and (law.name, number) in sums:
            by_round[number] = sums[law.name, number]
    return by_round


def _rounds(law: CollectedLaw, sums: Sums) -> list[Aggregate]:
    """The sums of each round; none if there are no reports at all.

    Rounds may differ in how many report: a stranger who reports in one alone stops nothing.
    """
    counted = []
    people = []
    for number in law.rounds:
        aggregate = sums.get((law.name, number))
        if aggregate is None:
            people.append(0)
        else:
            counted.append(counts_of_question(law, aggregate))
            people.append(aggregate.users)
    if not any(people):
        return []
    if not all(people):
        remedy = "Everyone must answer in both rounds; wait for the missing reports."
        what = f"reports of {law.name!r} per round"
        raise InputError(what, people, "some in each", remedy)
    return counted


def _with_sizes(law: CollectedLaw, of_sizes: CollectedLaw, sums: Sums) -> CollectedLaw:
    """A question about sets, with what the one about their sizes has found."""
    rounds = _rounds(of_sizes, sums)
    if not rounds:
        reason = f"question {of_sizes.name!r} has none"
        remedy = "Collect them first, or estimate without set sizes."
        raise InputError.because("reports", reason, remedy)
    raw = of_sizes.shape.estimate(stacked(rounds))
    return law.with_sizes(of_sizes.asked.set_sizes(raw))
