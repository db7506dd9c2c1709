"""From sums to estimates: one table for all questions, raw and post-processed side by side."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from planner.arrays import Array
from planner.deployment.collecting.reports import Sums
from planner.deployment.parameters import Parameters
from planner.errors import FileError, InputError
from planner.estimates.attention import Attention
from planner.estimates.channel import ChannelEstimates, Estimate, weighted_channel
from planner.estimates.counts import DrawnEstimates, Estimates, reach
from planner.estimates.cross_table import CrossTable, pair_tables
from planner.estimates.ordered_table import ordered_association
from planner.estimates.rows import (
    NUMBERS,
    AnswerRow,
    AnswerRows,
    answer_rows,
    differences,
    item_rows,
    joined,
    population_rows,
    weighted,
)
from planner.files import replace_file
from planner.limits import CONFIDENCE, JOINED
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate, stacked

TABLE_SUFFIXES = (".parquet", ".csv", ".json")
# lower to upper covers the answer's true number with the stated confidence; the joint limits
# cover all answers of a question together; an empty limit claims nothing. processed is biased,
# see remark. Of counts share is their share of the people, with its limits; of a difference
# between two groups it is that of their shares, and p the chance of a larger one if there is
# none. limits_for says whose variance errors and limits count: that of the people asked, or of
# people drawn at random from a population.
ESTIMATE_COLUMNS = pa.schema(
    [(name, pa.string()) for name in ("question", "group", "of", "level", "answer")]
    + [("users", pa.int64())]
    + [
        (name, pa.float64())
        for name in (*NUMBERS, "share", "share_lower", "share_upper", "p")
    ]
    + [("limits_for", pa.string()), ("remark", pa.string())]
)
ATTENTION = "attention"
CORRECTED = "if all attended"
ASKED = "people asked"
POPULATION = "population"
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
        the people asked. None: as the survey says.

    Raises
    ------
    InputError
        There are no reports, the two rounds of a question do not fit, or ``set_sizes`` names a
        question that is unknown, of another kind, or without reports.
    """
    sizes = dict(set_sizes or {})
    tables = list[pa.Table]()
    check_set_sizes(parameters, sizes)
    if population is None:
        population = parameters.document.get("limits") == POPULATION

    variable, parts = grouped or ("", {})

    def tell(counts: Sums, group: str = "") -> dict[tuple[str, str], AnswerRows]:
        rows_of, related = _answered(
            parameters, counts, sizes, window, confidence, of_group=bool(group)
        )
        if variable and not group:
            rows_of = {
                name: _not_by_group(parameters.question(name[0]), rows)
                for name, rows in rows_of.items()
            }
        tables.extend(_question_tables(rows_of, group, confidence, population))
        for name, what, rows in attention_rows(parameters, rows_of, confidence):
            tables.append(_table((name, what), rows, group, limits=POPULATION))
        tables.extend(_relation_tables(parameters, related, group, population))
        return rows_of

    if not tell(sums):
        raise InputError.because(
            "reports", "no report was counted", "Collect reports first."
        )
    groups = {
        value: tell(counts, f"{variable} = {value}") for value, counts in parts.items()
    }
    for name in dict.fromkeys(name for rows_of in groups.values() for name in rows_of):
        here = {
            value: rows_of[name] for value, rows_of in groups.items() if name in rows_of
        }
        rows = _weighted_rows(parameters, variable, name, here, parts, confidence)
        if rows is not None:
            group = f"weighted by {variable}"
            tables.append(_table(name, rows, group, limits=POPULATION))
        tables.extend(_gap_tables(variable, name, here, confidence))
    return pa.concat_tables(tables)


def _question_tables(
    answered: Mapping[tuple[str, str], AnswerRows],
    group: str,
    confidence: float,
    population: bool,
) -> Iterator[pa.Table]:
    """The rows of each question, of a group or of all."""
    for name, rows in answered.items():
        if population:
            drawn = population_rows(rows, confidence)
            yield _table(name, drawn, group, limits=POPULATION)
        else:
            yield _table(name, rows, group)


def attention_rows(
    parameters: Parameters,
    found: Mapping[tuple[str, str], AnswerRows],
    confidence: float,
) -> Iterator[tuple[str, str, AnswerRows]]:
    """Of each question with an anchor who attends, and its shares if all did.

    Its name, :data:`ATTENTION` or :data:`CORRECTED`, and the rows; for people drawn at random. An
    attention that is not told apart from 0 corrects nothing, and its row says so.
    """
    for anchor in parameters.anchors:
        rows = found.get((anchor["of"], ""))
        known = found.get((anchor["question"], ""))
        if rows is None or known is None:
            continue
        rows = population_rows(rows, confidence)
        known = population_rows(known, confidence)
        names = list(known.answers)
        if anchor["known"] not in names:
            remedy = "Export the parameters again."
            raise InputError.unknown("known", anchor["known"], names, remedy)
        place = names.index(anchor["known"])
        attention = Attention.of_anchor(
            float(known["estimate"][place] / known.whole[place]),
            float(known["standard_error"][place] / known.whole[place]),
            len(known.answers),
        )
        lower, upper = attention.limits(confidence)
        note = f"by {anchor['question']!r}, whose true answer is known"
        if not attention.is_seen(confidence):
            note = f"{note}: not told apart from 0, nothing is corrected"
        share = Estimate(attention.share, attention.standard_error, lower, upper, note)
        users = known.users
        row = AnswerRow("attentive people", share.scaled(0, users), whole=users)
        yield anchor["of"], ATTENTION, answer_rows(users, [row])
        if attention.is_seen(confidence):
            yield anchor["of"], CORRECTED, _corrected(rows, attention, confidence)


def _corrected(rows: AnswerRows, attention: Attention, confidence: float) -> AnswerRows:
    """How many people would have each answer if all attended, with normal limits."""
    shares, errors = attention.corrected(
        rows["estimate"] / rows.whole, rows["standard_error"] / rows.whole
    )
    half = reach(confidence) * errors
    corrected = []
    for k, answer in enumerate(rows.answers):
        lower = min(max(float(shares[k] - half[k]), 0.0), 1.0)
        upper = max(min(float(shares[k] + half[k]), 1.0), 0.0)
        note = "corrected for people who answer at random, evenly"
        share = Estimate(float(shares[k]), float(errors[k]), lower, upper, note)
        row = AnswerRow(
            answer,
            share.scaled(0, rows.users),
            level=rows.levels[k],
            whole=rows.users,
        )
        corrected.append(row)
    return answer_rows(rows.users, corrected)


def _relation_tables(
    parameters: Parameters,
    related: Sequence[tuple[str, CrossTable]],
    group: str,
    population: bool,
) -> Iterator[pa.Table]:
    """How two answers go together; but for people of each pair, of people drawn at random."""
    for name, table in related:
        if len(parameters.joint[name]) > 2:
            what, rows = pair_rows(table)
            if population:
                rows = population_rows(rows, table.confidence)
            limits = POPULATION if population else ASKED
            yield _table((name, what), rows, group, limits=limits)
        for what, rows, chance in related_rows(table):
            yield _table((name, what), rows, group, chance, POPULATION)


def _gap_tables(
    variable: str,
    name: tuple[str, str],
    here: Mapping[str, AnswerRows],
    confidence: float,
) -> Iterator[pa.Table]:
    """The difference of every two groups."""
    for first, second in combinations(here, 2):
        gap, chance = differences(here[first], here[second], confidence)
        between = f"{variable}: {first} less {second}"
        yield _table(name, gap, between, chance, POPULATION)


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
    parameters, sums = first
    answered, _ = _answered(parameters, sums, {}, 1, confidence, of_group=of_group)
    parameters, sums = second
    answered_in_second, _ = _answered(
        parameters, sums, {}, 1, confidence, of_group=of_group
    )
    tables = []
    for name, rows in answered.items():
        other = answered_in_second.get(name)
        if other is None or list(rows.answers) != list(other.answers):
            continue
        gap, chance = differences(rows, other, confidence)
        between = f"{COLLECTION}s: {names[0]} less {names[1]}"
        tables.append(_table(name, gap, between, chance, POPULATION))
        for called, of_collection in zip(names, (rows, other), strict=True):
            drawn = population_rows(of_collection, confidence)
            group = f"{COLLECTION} = {called}"
            tables.append(_table(name, drawn, group, limits=POPULATION))
    if not tables:
        reason = "no question with the same answers has reports in both collections"
        raise InputError.because(
            "questions", reason, "Compare collections of one survey."
        )
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
        if part:
            groups = [f"{part}, {group}" for group in table["group"].to_pylist()]
            position = table.column_names.index("group")
            table = table.set_column(position, "group", pa.array(groups, pa.string()))  # noqa: PLW2901
        tables.append(table)
    return pa.concat_tables(tables)


def _answered(
    parameters: Parameters,
    sums: Sums,
    sizes: Mapping[str, str],
    window: int,
    confidence: float,
    *,
    of_group: bool = False,
) -> tuple[dict[tuple[str, str], AnswerRows], list[tuple[str, CrossTable]]]:
    """The rows of each question that has reports, by its name and of which rounds they are.

    Of a joint one also those of its parts, and the table of every two of them. Of a group those are
    left out that promise something of estimates of all people alone.
    """
    answered = dict[tuple[str, str], AnswerRows]()
    related = list[tuple[str, CrossTable]]()
    for law in parameters.questions:
        name = law.name
        if of_group and law.shape.people_needed:
            continue
        if name in sizes:
            law = _with_sizes(law, parameters.question(sizes[name]), sums)  # noqa: PLW2901
        if law.again is not None:
            by_round = {
                n: sums[name, n]
                for n in law.rounds
                if n is not None and (name, n) in sums
            }
            rounds = round_rows(law, by_round, window, confidence)
            answered |= {(name, what): rows for what, rows in rounds}
        elif counted := _rounds(law, sums):
            rows = law.rows(counted, confidence)
            answered[name, ""] = _with_too_few(law, rows)
            if name in parameters.joint:
                tables = cross_tables(parameters, law, counted[0], confidence)
                answered |= {
                    (name, part): rows for part, rows in margin_rows(tables).items()
                }
                related += [(name, table) for table in tables]
    return answered, related


def _not_by_group(law: CollectedLaw, rows: AnswerRows) -> AnswerRows:
    """The rows of everybody, with the reason where groups have none of their own."""
    if not law.shape.people_needed:
        return rows
    reason = (
        "not by group: what is promised is of estimates of all people, released once"
    )
    return replace(rows, notes=[joined(note, reason) for note in rows.notes])


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


def _weighted_rows(
    parameters: Parameters,
    variable: str,
    name: tuple[str, str],
    here: Mapping[str, AnswerRows],
    parts: Mapping[str, Sums],
    confidence: float,
) -> AnswerRows | None:
    """A question's rows weighted by group; None where nothing is stated.

    Where a value that has a weight has no report, a row that says so and no number: nothing is
    known of these people. Means, of numbers and scores, weight what reports add up to: sum and
    number of answers, whose ratio the mean is.
    """
    stated = _stated_weights(parameters, variable)
    if not any(stated.get(value, 0) for value in here):
        return None
    unseen = [value for value, part in stated.items() if part and value not in here]
    first = next(iter(here.values()))
    users = sum(rows.users for rows in here.values())
    if unseen:
        share = sum(stated[value] for value in unseen) / sum(stated.values())
        weight = "of the population" if _is_population(parameters) else "of the weights"
        reason = (
            f"not weighted: no report of {', '.join(unseen)}, {100 * share:.0f} % {weight}; "
            "nothing is known of these people"
        )
        return answer_rows(
            users, [AnswerRow("", Estimate(None, None, np.nan, np.nan, reason))]
        )
    per_person = []
    for value, rows in here.items():
        # A population's part is shared by those of it who reported.
        shared = rows.users if _is_population(parameters) else 1
        per_person.append(stated[value] / shared)
    rows, effective = weighted([*here.values()], per_person, confidence)
    law = parameters.question(name[0])
    if name[1] or not np.isnan(first.whole).any():
        return rows
    estimates = [
        law.shape.estimate(stacked(_rounds(law, parts[value]))) for value in here
    ]
    if not isinstance(estimates[0], ChannelEstimates):
        return rows
    note = f"weighted by group: as exact as {effective:,.0f} people"
    means = law.asked.rows(weighted_channel(estimates, per_person), confidence)
    numbers = np.where(np.isnan(first.whole), means.numbers, rows.numbers)
    processing = [
        text if np.isnan(whole) else ""
        for text, whole in zip(means.processing, first.whole, strict=True)
    ]
    notes = [joined(note, text) for text in means.notes]
    return replace(rows, numbers=numbers, processing=processing, notes=notes)


def _stated_weights(parameters: Parameters, variable: str) -> dict[str, float]:
    """What a value of a known variable counts for in all, or a person of it; none if unstated."""
    for group in parameters.document.get("groups", ()):
        parts = group["weights"] or group["population"]
        if group["name"] == variable and parts:
            return dict(zip(group["values"], parts, strict=True))
    return {}


def _is_population(parameters: Parameters) -> bool:
    """Whether weights are a population's parts; else they are those of single people."""
    groups = parameters.document.get("groups", ())
    return any(group["population"] for group in groups)


def check_set_sizes(parameters: Parameters, set_sizes: Mapping[str, str]) -> None:
    """InputError if :func:`estimates_table` cannot use these, before anything is counted."""
    for of_sets, of_sizes in set_sizes.items():
        parameters.question(of_sets).asked.with_sizes(())
        law = parameters.question(of_sizes)
        law.asked.set_sizes()
        if law.again is not None:
            remedy = "Ask for the number of items once."
            raise InputError(
                "set_sizes", of_sizes, "a question that is not asked again", remedy
            )


def write_table(path: str | Path, table: pa.Table, *, excel: bool = False) -> None:
    """Write a table as Parquet, CSV or JSON (a list of rows), by the ending of the path.

    In a CSV, which spreadsheets open, a text that they would take for a formula begins with an
    apostrophe (OWASP ASVS 5.0, 1.2.10); the other two have names as they are. For ``excel`` it
    begins with a byte order mark.

    Raises
    ------
    FileError
        Another ending, or the path cannot be written.
    """
    suffix = Path(path).suffix
    if suffix == ".json":
        replace_file(
            path, json.dumps(table.to_pylist(), indent=1, allow_nan=False) + "\n"
        )
        return
    if suffix not in TABLE_SUFFIXES:
        raise FileError(
            path, f"ends in none of {', '.join(TABLE_SUFFIXES)}", "Rename it."
        )
    content = io.BytesIO()
    if suffix == ".parquet":
        pq.write_table(table, content)
    else:
        if excel:
            content.write(codecs.BOM_UTF8)
        columns = {name: _no_formula(table[name]) for name in table.column_names}
        pa_csv.write_csv(pa.table(columns), content)
    replace_file(path, content.getvalue())


def _no_formula(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts of which none begins like a formula, nor does a cell that a spreadsheet makes of it.

    Where a comma is the mark of decimals, spreadsheets begin a cell at each semicolon.
    """
    if not pa.types.is_string(column.type):
        return column
    begins = pc.replace_substring_regex(column, r"\A([=+\-@\t\r\x00])", r"'\1")
    return pc.replace_substring_regex(begins, r"([;\t\r\n]\"?)([=+\-@])", r"\1'\2")


def _rounds(law: CollectedLaw, sums: Sums) -> list[Aggregate]:
    """The sums of each round; none if there are no reports at all.

    Rounds may differ in how many report: a stranger who reports in one alone stops nothing.
    """
    by_round = [sums.get((law.name, number)) for number in law.rounds]
    counts = [0 if counted is None else counted.users for counted in by_round]
    if not any(counts):
        return []
    if not all(counts):
        remedy = "Everyone must answer in both rounds; wait for the missing reports."
        what = f"reports of {law.name!r} per round"
        raise InputError(what, counts, "some in each", remedy)
    return [counted for counted in by_round if counted is not None]


def _with_sizes(law: CollectedLaw, of_sizes: CollectedLaw, sums: Sums) -> CollectedLaw:
    """A question about sets, with what the one about their sizes has found."""
    rounds = _rounds(of_sizes, sums)
    if not rounds:
        remedy = "Collect them first, or estimate without set sizes."
        raise InputError.because(
            "reports", f"question {of_sizes.name!r} has none", remedy
        )
    return law.with_sizes(
        of_sizes.asked.set_sizes(of_sizes.shape.estimate(stacked(rounds)))
    )


def _table(
    name: tuple[str, str],
    rows: AnswerRows,
    group: str = "",
    chance: Array | None = None,
    limits: str = ASKED,
) -> pa.Table:
    """Rows as a table; ``name`` is that of the question, and of which rounds they are."""
    question, what = name
    size = len(rows.answers)
    shares = rows.numbers[[0, 2, 3]] / rows.whole
    p = np.full(size, np.nan) if chance is None else chance
    numbers = rows.numbers.copy()
    if chance is not None:  # of counts a difference is one of shares
        numbers[:, ~np.isnan(rows.whole)] = np.nan
    columns: list[object] = [
        pa.repeat(question, size),
        pa.repeat(group, size),
        pa.repeat(what, size),
        _texts(rows.levels),
        _texts(rows.answers),
        pa.repeat(rows.users, size),
        *(
            pa.array(column, from_pandas=True) for column in (*numbers, *shares, p)
        ),  # NaN: nothing
        pa.repeat(limits, size),
        _texts(rows.remarks),
    ]
    return pa.table(
        dict(zip(ESTIMATE_COLUMNS.names, columns, strict=True)), schema=ESTIMATE_COLUMNS
    )


def _texts(column: Sequence[str]) -> object:
    """A column of one text takes no list: there may be millions of rows."""
    alike = all(text == column[0] for text in column)
    return pa.repeat(column[0], len(column)) if alike else column


class _Round(NamedTuple):
    """Rows of one round; by their ``spread`` two rounds of answers that stay vary together.

    Of one value the share of people who are ``missing``, and what is said of it.
    """

    rows: AnswerRows
    spread: Array
    missing: float = 0.0
    note: str = ""


def round_rows(
    law: CollectedLaw, sums: Mapping[int, Aggregate], window: int, confidence: float
) -> Iterator[tuple[str, AnswerRows]]:
    """Rows of each round, moving window, the average of all rounds, and each change.

    ``sums`` are those of the rounds that have reports, by their number. Rounds that follow each
    other make a window and a change.
    """
    people = sum(counted.users for counted in sums.values())
    rounds = {
        n: _round(law, n, counted, people, confidence)
        for n, counted in sorted(sums.items())
    }
    for number, counted in rounds.items():
        yield f"round {number}", replace(counted.rows, notes=_notes([counted]))
    for last in rounds:
        inside = [rounds[n] for n in range(last - window + 1, last + 1) if n in rounds]
        if 1 < len(inside) == window < len(rounds):
            label = f"rounds {last - window + 1} to {last}"
            yield label, _combined(law, inside, [1 / window] * window, confidence)
    if len(rounds) > 1:
        share = [1 / len(rounds)] * len(rounds)
        yield (
            "average of rounds",
            _combined(law, list(rounds.values()), share, confidence),
        )
    for number, counted in rounds.items():
        if number - 1 in rounds:
            label = f"change from {number - 1} to {number}"
            both = [counted, rounds[number - 1]]
            yield label, _combined(law, both, [1.0, -1.0], confidence)


def _round(
    law: CollectedLaw, number: int, counted: Aggregate, people: int, confidence: float
) -> _Round:
    """One round, scaled from those who reported to all people."""
    parts = None
    note = ""
    missing = 0.0
    if law.blanks and law.again is not None:
        parts = law.again.parts
        people = counted.users
        active = int(counted.counts[-1])
        counted = Aggregate(active, counted.counts[:-1])
        missing = max(0.0, 1 - parts * active / people)
        note = f"in round {number} {100 * active / people:.1f} % reported a value: "
        note += f"about {100 * missing:.0f} % changed more often"
    if not counted.users:
        raise InputError.because(
            "reports", f"of {law.name!r} all are blanks", "Collect more."
        )
    estimates = law.shape.estimate(counted)
    if isinstance(estimates, Estimates):
        estimates = DrawnEstimates.of(estimates, people, parts)
        rows = law.asked.rows(estimates, confidence)
        spread = estimates.round_variance(rows["estimate"])
    else:  # of numbers per person; their covariance has who was drawn in it already
        estimates = estimates._replace(users=people)
        rows, spread = law.rows_of(estimates, confidence)
    return _Round(replace(rows, users=counted.users), spread, missing, note)


def _notes(rounds: Sequence[_Round]) -> list[str]:
    """What is said of each answer in any round, and of the one in which most are missing."""
    worst = max(rounds, key=lambda each_round: each_round.missing).note
    texts_by_answer = zip(
        *(each_round.rows.notes for each_round in rounds), strict=True
    )
    return [joined(*texts, worst) for texts in texts_by_answer]


def _combined(
    law: CollectedLaw,
    rounds: Sequence[_Round],
    weights: Sequence[float],
    confidence: float,
) -> AnswerRows:
    """Sums of rounds with weights: of answers that stay, or are drawn anew, what varies more.

    Nobody is in two rounds: estimates of answers that stay vary against each other, by their
    spread. One value is in many rounds, and while it stays all vary together. What limits allow for
    besides, sets that were cut say, adds up. Proof: docs/theory/rounds.md.
    """
    weight = np.array(weights)[:, None]
    z = reach(confidence)
    value, error, lower, upper = np.stack(
        [part.rows.numbers[:4] for part in rounds], axis=1
    )
    spread = weight * np.sqrt([part.spread for part in rounds])
    moves = np.square(spread).sum(axis=0)
    stay = np.square(spread.sum(axis=0))
    against = np.maximum(moves - stay, 0)

    def together(errors: Array, times: float = 1.0) -> Array:
        anew = np.square(weight * errors).sum(axis=0) + times**2 * against
        stays = np.square((weight * errors).sum(axis=0)) if law.blanks else anew
        return np.asarray(np.sqrt(np.maximum(anew, stays)))

    columns = [(weight * value).sum(axis=0), together(error)]
    for side in (-1, 1):
        half = np.where(side * weight > 0, upper - value, value - lower)
        drawn = z * error if law.asked.several else np.maximum(half, z * error)
        beside = (np.abs(weight) * np.maximum(half - drawn, 0)).sum(axis=0)
        columns.append(columns[0] + side * (together(drawn, z) + beside))
    first = rounds[0].rows
    users = sum(part.rows.users for part in rounds)
    drawn = np.where(np.isnan(first.drawn), np.nan, np.maximum(moves, stay))
    return replace(
        first.stating(users, columns, _notes(rounds), first.whole), drawn=drawn
    )


# -- what the reports of a joint question tell of its parts, beside its cells -------------

# Of what rows are, the rows, and a chance each where they are no counts.
RelatedRows = tuple[str, AnswerRows, Array | None]
INDEPENDENCE = "independence"
CRAMERS_V = "Cramér's V"
GAMMA = "gamma"
UP_TO = " up to"
ODDS_RATIO = "odds ratio of "


def cross_tables(
    parameters: Parameters, law: CollectedLaw, counted: Aggregate, confidence: float
) -> list[CrossTable]:
    """The table of every two parts of a joint question."""
    counts = law.shape.estimate(counted).values
    items = law.levels.item_names()
    return pair_tables(
        questions=parameters.joint[law.name],
        items=items,
        counts=counts,
        users=counted.users,
        moments=law.shape.second_moments,
        confidence=confidence,
    )


def margin_rows(tables: Sequence[CrossTable]) -> dict[str, AnswerRows]:
    """People of each answer of each part, by its name; of those in order also up to each."""
    margins = {}
    for table in tables:
        for axis, name in enumerate(table.names):
            if name in margins:  # as a part of another pair
                continue
            margins[name] = _counts(table, list(table.answers[axis]), table.lines[axis])
            if table.in_order[axis]:
                margins[f"{name}{UP_TO}"] = _up_to(table, axis)
    return margins


def _up_to(table: CrossTable, axis: int) -> AnswerRows:
    """People up to each answer in order of one of both questions, but the highest."""
    lines = table.lines[axis]
    ends = table.in_order[axis] - 1
    people = table.people_in(np.cumsum(lines, axis=0)[:ends])
    whole = table.people_in(lines).on_simplex()
    processed = whole._replace(values=np.cumsum(whole.values)[:ends])
    names = list(table.answers[axis][:ends])
    return item_rows(([""] * ends, names), people, processed, table.confidence)


def pair_rows(table: CrossTable) -> tuple[str, AnswerRows]:
    """People of each pair of answers, of whom the question also asked something else."""
    names = [JOINED.join(cell) for cell in product(*table.answers)]
    return " and ".join(table.names), _counts(table, names, np.eye(len(names)))


def related_rows(table: CrossTable) -> Iterator[RelatedRows]:
    """Rows of the association, and of shares, all of people drawn at random."""
    (first, second) = table.names
    places = [*np.ndindex(table.counts.shape)]
    names = [JOINED.join(cell) for cell in product(*table.answers)]
    none = np.full(len(places), np.nan)
    test = table.independence
    note = joined(
        f"{test.degrees} degrees of freedom, the noise of the reports in it", test.note
    )
    statistic = Estimate(test.statistic, None, np.nan, np.nan, note)
    quantities = {INDEPENDENCE: statistic, CRAMERS_V: table.association}
    chances = {INDEPENDENCE: test.p_value}
    direction = ordered_association(table)
    if direction is not None:
        quantities[GAMMA] = direction.gamma
        chances[GAMMA] = direction.p_value
    odds = places if len(places) > 3 else []
    if table.counts.shape == (2, 2):
        # The others' odds ratios are this one or its inverse.
        odds = places[:1]
    for k, (i, j) in enumerate(odds):
        quantities[f"{ODDS_RATIO}{names[k]}"] = table.odds_ratio([i], [j])
    p = np.array([chances.get(name, np.nan) for name in quantities])
    yield (
        f"{first} with {second}",
        _rows(table, list(quantities), list(quantities.values())),
        p,
    )
    for axis, question, among in ((1, first, second), (0, second, first)):
        shares = [table.share(i, j, margin=axis) for i, j in places]
        yield f"{question} among {among}", _rows(table, names, shares, whole=1.0), none


def _counts(table: CrossTable, names: Sequence[str], cells: Array) -> AnswerRows:
    """Rows of the people in some cells each, of whom everybody is in one."""
    people = table.people_in(cells)
    return item_rows(
        ([""] * len(names), names), people, people.on_simplex(), table.confidence
    )


def _rows(
    table: CrossTable,
    names: Sequence[str],
    estimates: Sequence[Estimate],
    whole: float = np.nan,
) -> AnswerRows:
    named = zip(names, estimates, strict=True)
    rows = answer_rows(
        table.users,
        [AnswerRow(name, estimate, whole=whole) for name, estimate in named],
    )
    # Who was asked adds nothing: limits are of people drawn at random already.
    return replace(rows, drawn=np.zeros(len(estimates)))
