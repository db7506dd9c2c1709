"""The result of a collection: what was counted, what is estimated, and what that tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.deployment.collecting.attending import ATTENTION, CORRECTED
from planner.deployment.collecting.collector import Collection
from planner.deployment.collecting.estimate_tables import POPULATION
from planner.deployment.collecting.modelling import (
    MODEL,
)
from planner.deployment.collecting.relations import (
    UP_TO,
)
from planner.deployment.collecting.reports import Key
from planner.deployment.parameters import Parameters
from planner.estimates.rows import SMOOTHED
from planner.limits import CONFIDENCE, DENOMINATOR
from planner.mechanisms.asking import CollectedLaw, OrderedCollected
from planner.mechanisms.counting import Aggregate
from planner.policy.budget_text import factor_up
from planner.show.blocks import (
    Block,
    Figure,
    Heading,
    Sentence,
    Table,
    column,
    percent,
    rows_table,
    said,
)
from planner.show.cells import (
    CHANGE,
    CUT_MARK,
    EstimateRow,
    estimate_text,
    gap_text,
    interval_text,
    is_quartile,
    processed_text,
    share_text,
)
from planner.show.counted import NO_TESTS, files_blocks
from planner.show.figures import (
    distribution_figure,
    estimates_figure,
    over_rounds_figure,
)
from planner.show.regressions import model_blocks
from planner.show.relations import relation_blocks, relations

if TYPE_CHECKING:
    from pandas import DataFrame, Series
    from pyarrow import Table as Columns


_MOST_ANSWERS = 20  # of one table; the file of estimates has all


_WEIGHTED = "weighted by group: "


_AT_THE_END = ("processed: ", _WEIGHTED)  # remarks that many questions share


_AT_AN_END = (
    f"{CUT_MARK} The interval goes on below 0, or above everybody, where no number can be: "
    "the end of what can be is shown. The table of all estimates has the limit itself."
)


_BELOW_ZERO = (
    "An estimate below 0 comes from the noise of the reports, and stands for few people or none. "
    "It is shown as it is, as sums and differences need it."
)


_INTERVALS = (
    "Intervals cover the randomness of the reports, not of who was asked; those of means of "
    "numbers or scores, whose spread reports do not tell, of both."
)


_OF_POPULATION = (
    "Intervals are for the population, if the people asked were drawn from it at random: they "
    "cover the randomness of the reports and of who was asked."
)


def result_blocks(
    parameters: Parameters,
    collection: Collection,
    estimates: Columns,
    confidence: float,
) -> list[Block]:
    """The blocks of a result: the survey, what was counted, and each question under a heading."""
    blocks: list[Block] = [
        Heading(parameters.survey, level=1),
        *files_blocks(collection),
        *said([_drawn_sentence(parameters)], "note"),
    ]
    blocks += _questions(parameters, estimates, confidence)
    return blocks


def _drawn_sentence(parameters: Parameters) -> str:
    """The people whom counts are of, where each answers some questions; else empty."""
    drawing = parameters.drawing
    if drawing is None:
        return ""
    number = len(parameters.questions)
    return (
        f"Each person was asked {drawing.questions_each} of {number} questions, drawn at random: "
        "counts are of the people who were asked, shares are of everybody, and intervals allow for "
        "who was drawn."
    )


def receiving_blocks(
    parameters: Parameters, sums: Mapping[Key, Aggregate], least: int, share: str = ""
) -> list[Block]:
    """What a receiver has so far; estimates of questions with ``least`` reports or more."""
    from planner.deployment.collecting.estimating import estimates_table

    number = Counter({law.name: 0 for law in parameters.questions})
    for (question, _), aggregate in sums.items():
        number[question] += aggregate.users
    planned = _planned_people(parameters)
    rows = []
    too_few = []
    for name, count in number.items():
        rows.append((name, f"{count:,}", f"{planned[name]:,}"))
        if count < least:
            too_few.append(name)
    # The first few reports are mostly noise, and whoever looks might take it for a result.
    enough = {}
    for key, aggregate in sums.items():
        question, _ = key
        if number[question] >= least:
            enough[key] = aggregate
    blocks: list[Block] = [Heading(f"{parameters.survey}: reports so far", level=1)]
    if share:
        blocks.append(Sentence(f"To share: {share}"))
    columns = ("question", "reports", "people planned")
    blocks.append(rows_table("Received", columns, rows, 1))
    if too_few:
        without = (
            f"Of {', '.join(too_few)} there are no estimates before {least:,} reports."
        )
        blocks.append(Sentence(without, tone="note"))
    if enough:
        blocks += _questions(
            parameters, estimates_table(parameters, enough), CONFIDENCE
        )
    return blocks


def _planned_people(parameters: Parameters) -> dict[str, int]:
    """How many people each question was planned to be asked of."""
    planned = {}
    for law in parameters.questions:
        planned[law.name] = parameters.users
    drawing = parameters.drawing
    if drawing is not None:
        for name, chance in zip(drawing.names, drawing.chances, strict=True):
            planned[name] = round(parameters.users * chance / DENOMINATOR)
    return planned


def difference_blocks(
    by_part: Mapping[str, Columns], names: tuple[str, str], confidence: float
) -> list[Block]:
    """Two collections side by side, question by question, and their differences.

    ``by_part`` has the table of everybody, under an empty name, and those of known groups, each
    under a name such as ``"region = north"``.
    """
    blocks: list[Block] = [
        Heading(f"{names[0]} and {names[1]}", level=1),
        Sentence(
            "People of the two collections are taken for independent, and each for a sample "
            "drawn at random: limits are for the populations they were drawn from.",
            tone="note",
        ),
    ]
    frames = {}
    for part, table in by_part.items():
        frames[part] = table.to_pandas()
    for name in frames[""]["question"].unique():
        blocks.append(Heading(str(name)))
        for part, frame in frames.items():
            of_question = frame[frame["question"] == name]
            if part and len(of_question):
                blocks.append(Heading(part, level=3))
            blocks += _groups(of_question, confidence)
    return [*blocks, *_beyond_what_can_be(blocks, frames[""])]


def _questions(
    parameters: Parameters, estimates: Columns, confidence: float
) -> list[Block]:
    """Each question under its heading, and then once what holds for all of them."""
    frame = estimates.to_pandas()
    blocks = list[Block]()
    for law in parameters.questions:
        of_question = frame[frame["question"] == law.name]
        if len(of_question):
            blocks.append(Heading(law.name))
            parts = [part.name for part in parameters.joint.get(law.name, ())]
            blocks += _question(law, of_question, parts, confidence)
    plain = frame[frame["group"] == ""]
    intervals = _INTERVALS
    if (plain["limits_for"] == POPULATION).all():
        intervals = _OF_POPULATION
    # What holds for all questions is said once, below them: beside each it would hide the numbers.
    return [
        *blocks,
        *said(_remarks_at_the_end(frame)),
        *_beyond_what_can_be(blocks, frame),
        *said([intervals, NO_TESTS], "note"),
    ]


def _beyond_what_can_be(blocks: Sequence[Block], frame: DataFrame) -> list[Sentence]:
    """What a mark at a limit means, and an estimate below 0, where there is one."""
    marked = False
    for block in blocks:
        if isinstance(block, Table):
            for shown in block.columns:
                if shown.text:  # an answer may have such a sign in its name
                    continue
                for cell in shown.cells:
                    marked = marked or CUT_MARK in cell
    # A difference may well be below 0, and a change from one round to the next.
    counts = frame[frame["p"].isna() & ~frame["of"].str.startswith(CHANGE)]
    negative = bool((counts["share"] < 0).any())
    sentences = []
    if marked:
        sentences.append(_AT_AN_END)
    if negative:
        sentences.append(_BELOW_ZERO)
    return said(sentences, "note")


def _question(
    law: CollectedLaw, of_question: DataFrame, parts: Sequence[str], confidence: float
) -> Iterator[Block]:
    """One question: its answers, what can be told apart, its groups, its rounds, its promise."""
    # A model has tables of its own, and a smoothed curve is a column beside the consistent one.
    of_model = of_question[of_question["group"] == MODEL]
    of_question = of_question[of_question["group"] != MODEL]
    of_curve = of_question["of"] == SMOOTHED
    smoothed = of_question[of_curve & (of_question["group"] == "")]
    of_question = of_question[~of_curve]
    everybody = of_question[of_question["group"] == ""]
    rounds = everybody[everybody["of"].str.startswith("round ")]
    last = ""
    if len(rounds):
        last = rounds["of"].iloc[-1]
    # Of the rounds the last and the average have a table; a picture below shows all of them.
    up_to = [f"{part}{UP_TO}" for part in parts]
    parts_shown = ("", last, "average of rounds", ATTENTION, CORRECTED, *up_to)
    for part in dict.fromkeys(parts_shown):
        rows = everybody[(everybody["of"] == part) & everybody["estimate"].notna()]
        in_order = law.asked.in_order or part in up_to
        yield from _part_blocks(
            law, rows, part, smoothed, confidence, in_order=in_order
        )
    yield from _curve_blocks(law, everybody, smoothed, confidence)
    if len(rounds):
        draw = partial(over_rounds_figure, rounds[rounds["estimate"].notna()])
        alt = "Estimates of the largest answers, round by round; bands are "
        alt += f"{percent(confidence)} intervals."
        yield Figure(
            f"{law.name}, round by round", draw, alt, f"rounds {law.name}", "page"
        )
    yield from relation_blocks(everybody, parts, confidence)
    # What relates two parts has its own tables.
    related = []
    for _, _, names in relations(parts):
        related += names
    of_question = of_question[~of_question["of"].isin(related)]
    yield from _groups(of_question, confidence)
    yield from model_blocks(of_model, confidence)
    yield from said(_remarks(of_question))
    # As the plan's page promises it: by what reports use, which may be less than they may use.
    # Without a limit for some pair of answers nothing is promised of every two.
    demanded = max((pair.demanded for pair in law.pairs), default=np.inf)
    if isfinite(demanded):
        used = factor_up(max(pair.realised for pair in law.pairs))
        promise = (
            f"No report changes the odds between two answers more than {used}-fold."
        )
        yield from said([promise], "proof")


def _part_blocks(
    law: CollectedLaw,
    rows: DataFrame,
    part: str,
    smoothed: DataFrame,
    confidence: float,
    *,
    in_order: bool,
) -> Iterator[Block]:
    """Estimates of one part of a question, a round say: the most frequent answers first.

    Answers that have an order keep it.
    """
    # A quartile is an answer, not how many have it: it stands in a table of its own.
    quartiles = _are_quartiles(rows)
    if quartiles.any():
        yield _answers(rows[quartiles], part or "Quartiles", confidence)
        rows = rows[~quartiles]
    if not len(rows):
        return
    if not in_order:
        rows = rows.sort_values("estimate", ascending=False, kind="stable")
    few = rows.head(_MOST_ANSWERS)
    left = len(rows) - _MOST_ANSWERS
    yield _answers(few, part, confidence, smoothed)
    if left > 0:
        yield Sentence(f"... and {left:,} more answers, in the table of all estimates.")
    # A picture of people has no axis for means and rates; the order of answers is in the table.
    if not in_order and rows["share"].notna().all():
        yield from said([_told_apart(few)])
        draw = partial(estimates_figure, few)
        key = f"answers {law.name} {part}"
        alt = f"Estimated people by answer; bars are {percent(confidence)} intervals."
        yield Figure("People by answer", draw, alt, key, "page")


def _are_quartiles(rows: DataFrame) -> Series[bool]:
    """Which rows are quartiles of a number: they have neither a share nor a standard error."""
    return rows["share"].isna() & rows["standard_error"].isna()


def _curve_blocks(
    law: CollectedLaw, everybody: DataFrame, smoothed: DataFrame, confidence: float
) -> Iterator[Block]:
    """The picture of a number's distribution, where that was asked for."""
    if not len(smoothed) or not isinstance(law.asked, OrderedCollected):
        return
    edges = law.asked.edges
    assert edges is not None  # noqa: S101 - of numbers alone there is a smoothed curve
    up_to = everybody[everybody["of"] == ""].head(len(edges) - 2)
    draw = partial(distribution_figure, edges, up_to, smoothed)
    alt = "People up to each value: the consistent curve with its "
    alt += f"{100 * confidence:g} % band, and the smoothed one."
    yield Figure("People up to each value", draw, alt, f"curve {law.name}", "page")


def _answers(
    rows: DataFrame, part: str, confidence: float, smoothed: DataFrame | None = None
) -> Table:
    """Answers and their estimates, beside them those of a ``smoothed`` curve if there is one."""
    columns = [
        column("answer", rows["answer"]),
        column("estimate", map(estimate_text, rows.itertuples()), str),
        column(
            f"{percent(confidence)} interval",
            map(interval_text, rows.itertuples()),
            str,
        ),
    ]
    if rows["processed"].notna().any():
        columns.append(column("processed", map(processed_text, rows.itertuples()), str))
    if smoothed is not None and len(smoothed):
        written = map(estimate_text, smoothed.itertuples())
        curve = dict(zip(smoothed["answer"], written, strict=True))
        cells = [curve.get(answer, "") for answer in rows["answer"]]
        columns.append(column("smoothed", cells, str))
    if rows["share"].notna().any():
        columns.insert(2, column("share", map(share_text, rows.itertuples()), str))
    return Table(part or "Estimates", tuple(columns), "everybody")


def _told_apart(rows: DataFrame) -> str:
    """Which answers, largest first, have more people than the next, at the joint confidence."""
    names = rows["answer"].tolist()
    ends = rows[["joint_lower", "joint_upper"]].to_numpy()
    if len(names) < 2 or np.isnan(ends).any():
        return ""
    runs = [[names[0]]]
    lowest = ends[0, 0]
    for name, (low, high) in zip(names[1:], ends[1:], strict=True):
        if high < lowest:  # below all of the run
            runs.append([name])
            lowest = low
        else:
            runs[-1].append(name)
            lowest = min(lowest, low)
    if len(runs) == 1:
        return "The reports do not tell which of these answers more people have."
    in_order = []
    for run in runs:
        in_order.append(" or ".join(map(repr, run)))
    sentence = f"Most people first: {', then '.join(in_order)}."
    if len(runs) < len(names):  # some run has several
        sentence += " What stands with 'or' is not told apart."
    return sentence


def _answer_of(row: Any) -> str:
    """An answer, with the part or the round that it is of: two parts may have it."""
    if not row.of:
        return str(row.answer)
    if row.of.endswith(UP_TO):
        return f"{row.of} {row.answer}"
    return f"{row.of}: {row.answer}"


def _groups(of_question: DataFrame, confidence: float) -> Iterator[Block]:
    """Groups side by side, and the differences of every two."""
    groups = of_question[
        of_question["group"].str.contains(" = ")
        & of_question["estimate"].notna()
        & of_question["p"].isna()
    ]
    yield from _side_by_side(groups[groups["share"].notna()], "share", confidence)
    yield from _side_by_side(groups[groups["share"].isna()], "estimate", confidence)
    gaps = (
        of_question[of_question["p"].notna()]
        .sort_values("p", kind="stable")
        .head(_MOST_ANSWERS)
    )
    if len(gaps):
        between = gaps["group"].str.partition(": ")[2]
        columns = [
            column("between", between),
            column("answer", list(map(_answer_of, gaps.itertuples()))),
            column("difference", map(gap_text, gaps.itertuples()), str),
            column("p", gaps["p"], ".2g"),
        ]
        title = "Differences, most certain first"
        if between.nunique() == 1:
            title = f"{between.iloc[0]}: differences, most certain first"
            del columns[0]
        yield Table(title, tuple(columns), "everybody")
    weighted = of_question[
        of_question["group"].str.startswith("weighted")
        & of_question["estimate"].notna()
    ]
    for part, rows in weighted.groupby("of", sort=False):
        yield _answers(
            rows.head(_MOST_ANSWERS), f"{rows['group'].iloc[0]} {part}", confidence
        )


def _side_by_side(groups: DataFrame, figure: str, confidence: float) -> Iterator[Table]:
    """A table of the values of a known group: a share of each answer, or a mean and the like."""
    for of, rows in groups.groupby("of", sort=False):
        part = str(of)
        answers = list(dict.fromkeys(rows["answer"]))[:_MOST_ANSWERS]
        columns = [column("answer", answers)]
        for group, group_rows in rows.groupby("group", sort=False):
            cells = {}
            for row in group_rows.itertuples():
                cells[row.answer] = gap_text(row)
            value = _value_of(str(group))
            heading = f"{value} ({group_rows['users'].iloc[0]:,})"
            columns.append(column(heading, [cells[name] for name in answers], str))
        variable = rows["group"].iloc[0].partition(" = ")[0]
        title = f"By {variable}: {figure}, {percent(confidence)} interval"
        if part:
            title += f", {part}"
        yield Table(title, tuple(columns), "everybody")


def _value_of(group: str) -> str:
    """The value of a known group that a row is of, such as ``north`` of ``region = north``."""
    return group.partition(" = ")[2]


def _remarks(rows: DataFrame) -> list[str]:
    """What is remarked of a question's rows, each text once; but for what is said at the end.

    Of a known group it is said of which, unless it is said of everybody. A quartile has no number
    in its row, and stands in its remark, of everybody and of each group.
    """
    sentences = dict[str, None]()
    said_already = set[str]()
    row: EstimateRow
    for row in rows.itertuples():
        value = _value_of(row.group)
        of_two_groups = not np.isnan(row.p)
        for text in _parts_of_remark(row):
            repeated = text in said_already and (of_two_groups or not value)
            if text.startswith(_AT_THE_END) or repeated:
                continue
            sentence = f"{text[0].upper()}{text[1:]}."
            if value and (sentence not in sentences or is_quartile(row)):
                sentence = f"In {value}: {text}."
            sentences[sentence] = None
            said_already.add(text)
    return list(sentences)


def _remarks_at_the_end(frame: DataFrame) -> list[str]:
    """What was processed and how, and how exact weights are: once, with the questions it is of."""
    questions = dict[str, dict[str, None]]()
    row: EstimateRow
    different = frame.drop_duplicates(["question", "remark"])  # there may be many rows
    for row in different.itertuples():
        for text in _parts_of_remark(row):
            if text.startswith(_AT_THE_END):
                questions.setdefault(text, {})[row.question] = None
    several = frame["question"].nunique() > 1
    sentences = []
    for text, names in questions.items():
        sentence = f"{text[0].upper()}{text[1:]}"
        if several:
            sentence += f" ({', '.join(names)})"
        sentences.append(f"{sentence}.")
    return sentences


def _parts_of_remark(row: EstimateRow) -> list[str]:
    """The sentences of a row's remark; that of a quartile may hold any sign of an answer."""
    if not row.remark:
        return []
    if not is_quartile(row):
        return list(row.remark.split("; "))
    text, sign, weight = row.remark.rpartition(f"; {_WEIGHTED}")
    if not sign:  # no weight is said in it
        return [row.remark]
    return [text, f"{_WEIGHTED}{weight}"]
