"""The result of a collection: what was counted, what is estimated, and what that tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.deployment.collecting.attending import ATTENTION, CORRECTED
from planner.deployment.collecting.collector import Collection
from planner.deployment.collecting.estimate_tables import POPULATION
from planner.deployment.collecting.modelling import (
    COEFFICIENT,
    EFFECT,
    MODEL,
    PREDICTED,
)
from planner.deployment.collecting.relations import (
    CRAMERS_V,
    GAMMA,
    INDEPENDENCE,
    ODDS_RATIO,
    UP_TO,
)
from planner.deployment.collecting.reports import Contradiction, Key
from planner.deployment.parameters import Parameters
from planner.estimates.rows import SMOOTHED
from planner.laws.schema import Document
from planner.limits import CONFIDENCE, DENOMINATOR, JOINED
from planner.mechanisms.asking import CollectedLaw, OrderedCollected
from planner.mechanisms.counting import Aggregate
from planner.policy.budget_text import factor_up
from planner.show.blocks import (
    Block,
    Column,
    Figure,
    Heading,
    Rank,
    Sentence,
    Table,
    as_exact_as,
    column,
    percent,
    percent_with,
    quantity,
    rows_table,
    said,
)
from planner.show.figures import (
    distribution_figure,
    estimates_figure,
    over_rounds_figure,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series
    from pyarrow import Table as Columns

_Row = Any  # of a table of estimates
_MOST_FILES = 20
_MOST_ANSWERS = 20
_MOST_ODDS = 3
_MOST_MODEL_ROWS = 40
_MOST_COLUMNS = 12
_CHANGE = "change from "  # of one round to the next
_RATE = "missing rate"
_WEIGHTED = "weighted by group: "
_AT_THE_END = ("processed: ", _WEIGHTED)  # remarks that many questions share
_LIMITS = ["estimate", "lower", "upper"]
_SHARES = ["share", "share_lower", "share_upper"]
_CUT_MARK = "*"
_AT_AN_END = (
    f"{_CUT_MARK} The interval goes on below 0, or above everybody, where no number can be: "
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
_NO_TESTS = (
    "Do not compute a chi-square, a correlation or a regression from these estimates: they take "
    "the noise of the reports for an association. A model, a regression on known groups, allows "
    "for it."
)


def result_blocks(
    parameters: Parameters,
    collection: Collection,
    estimates: Columns,
    confidence: float,
) -> list[Block]:
    """Everything of a result: the survey, what was counted, and each question under a heading."""
    blocks: list[Block] = [
        Heading(parameters.survey, level=1),
        *files_blocks(collection),
        *said([_drawn_sentence(parameters)], "note"),
    ]
    blocks += _questions(parameters, estimates, confidence)
    return blocks


def _drawn_sentence(parameters: Parameters) -> str:
    """Of whom counts are, where each person answers some questions; else nothing."""
    drawing = parameters.drawing
    if drawing is None:
        return ""
    number = len(parameters.questions)
    return (
        f"Each person was asked {drawing.each} of {number} questions, drawn at random: counts are "
        "of the people who were asked, shares are of everybody."
    )


def receiving_blocks(
    parameters: Parameters, sums: Mapping[Key, Aggregate], least: int, share: str = ""
) -> list[Block]:
    """What a receiver has so far; estimates of questions with ``least`` reports or more."""
    from planner.deployment.collecting.estimating import estimates_table

    number = Counter({law.name: 0 for law in parameters.questions})
    for (question, _), aggregate in sums.items():
        number[question] += aggregate.users
    planned = dict.fromkeys(number, parameters.users)
    drawing = parameters.drawing
    if drawing is not None:
        for name, chance in zip(drawing.names, drawing.chances, strict=True):
            planned[name] = round(parameters.users * chance / DENOMINATOR)
    rows = [
        (name, f"{count:,}", f"{planned[name]:,}") for name, count in number.items()
    ]
    enough = {
        key: aggregate for key, aggregate in sums.items() if number[key[0]] >= least
    }
    few = ", ".join(name for name, count in number.items() if count < least)
    blocks: list[Block] = [
        Heading(f"{parameters.survey}: reports so far", level=1),
        *said([share and f"To share: {share}"]),
        rows_table("Received", ("question", "reports", "people planned"), rows, 1),
        *said(
            [few and f"Of {few} there are no estimates before {least:,} reports."],
            "note",
        ),
    ]
    if enough:
        blocks += _questions(
            parameters, estimates_table(parameters, enough), CONFIDENCE
        )
    return blocks


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
    frames = {part: table.to_pandas() for part, table in by_part.items()}
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
    of_population = (plain["limits_for"] == POPULATION).all()
    intervals = _OF_POPULATION if of_population else _INTERVALS
    return [
        *blocks,
        *said(_remarks_at_the_end(frame)),
        *_beyond_what_can_be(blocks, frame),
        *said([intervals, _NO_TESTS], "note"),
    ]


def _beyond_what_can_be(blocks: Sequence[Block], frame: DataFrame) -> list[Sentence]:
    """What a mark at a limit means, and an estimate below 0, where there is one."""
    marked = False
    for block in blocks:
        if isinstance(block, Table):
            for shown in block.columns:
                if not shown.text:
                    marked = marked or any(_CUT_MARK in cell for cell in shown.cells)
    counts = frame[frame["p"].isna() & ~frame["of"].str.startswith(_CHANGE)]
    negative = bool((counts["share"] < 0).any())
    sentences = [_AT_AN_END * marked, _BELOW_ZERO * negative]
    return said(sentences, "note")


def _question(
    law: CollectedLaw, of_question: DataFrame, parts: Sequence[str], confidence: float
) -> Iterator[Block]:
    """One question: its answers, what can be told apart, its groups, its rounds, its promise."""
    of_model = of_question[of_question["group"] == MODEL]
    of_question = of_question[of_question["group"] != MODEL]
    of_curve = of_question["of"] == SMOOTHED
    smoothed = of_question[of_curve & (of_question["group"] == "")]
    of_question = of_question[~of_curve]
    everybody = of_question[of_question["group"] == ""]
    ordered = law.asked.in_order
    rounds = everybody[everybody["of"].str.startswith("round ")]
    last = rounds["of"].iloc[-1] if len(rounds) else ""
    up_to = [f"{part}{UP_TO}" for part in parts]
    parts_shown = ("", last, "average of rounds", ATTENTION, CORRECTED, *up_to)
    for part in dict.fromkeys(parts_shown):
        rows = everybody[(everybody["of"] == part) & everybody["estimate"].notna()]
        quartiles = _are_quartiles(rows)
        if quartiles.any():
            yield _answers(rows[quartiles], part or "Quartiles", confidence)
            rows = rows[~quartiles]
        if not len(rows):
            continue
        in_order = ordered or part in up_to
        if not in_order:
            rows = rows.sort_values("estimate", ascending=False, kind="stable")
        few = rows.head(_MOST_ANSWERS)
        left = len(rows) - _MOST_ANSWERS
        yield _answers(few, part, confidence, smoothed)
        yield from said(
            [
                f"... and {left:,} more answers, in the table of all estimates."
                * (left > 0)
            ]
        )
        if not in_order and rows["share"].notna().all():
            yield from said([_told_apart(few)])
            draw = partial(estimates_figure, few)
            key = f"answers {law.name} {part}"
            alt = (
                f"Estimated people by answer; bars are {percent(confidence)} intervals."
            )
            yield Figure("People by answer", draw, alt, key, "page")
    yield from _curve_blocks(law, everybody, smoothed, confidence)
    if len(rounds):
        draw = partial(over_rounds_figure, rounds[rounds["estimate"].notna()])
        alt = "Estimates of the largest answers, round by round; bands are "
        alt += f"{percent(confidence)} intervals."
        yield Figure(
            f"{law.name}, round by round", draw, alt, f"rounds {law.name}", "page"
        )
    yield from _grid_blocks(everybody, parts, confidence)
    of_question = of_question[
        ~of_question["of"].isin(
            [relation for *_, related in _relations(parts) for relation in related]
        )
    ]
    yield from _groups(of_question, confidence)
    yield from _model_blocks(of_model, confidence)
    yield from said(_remarks(of_question))
    # As the plan's page promises it: by what reports use, which may be less than they may use.
    demanded = max((pair.demanded for pair in law.pairs), default=np.inf)
    if isfinite(demanded):
        used = factor_up(max(pair.realised for pair in law.pairs))
        promise = (
            f"No report changes the odds between two answers more than {used}-fold."
        )
        yield from said([promise], "proof")


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
    alt += f"{confidence:.0%} band, and the smoothed one."
    yield Figure("People up to each value", draw, alt, f"curve {law.name}", "page")


def _model_blocks(rows: DataFrame, confidence: float) -> Iterator[Block]:
    """What a model says: predictions and average effects first, coefficients on the page."""
    if not len(rows):
        return
    yield from said(
        [
            f"Model: {rows['remark'].iloc[0]}. Predictions are of all who reported, as if each "
            "had that value, all else as it is; limits are for people drawn at random."
        ]
    )
    titles: dict[str, tuple[str, str, Rank]] = {
        PREDICTED: ("Predicted", "if", "everybody"),
        EFFECT: ("Average effects", "of", "everybody"),
        COEFFICIENT: ("Coefficients", "term", "page"),
    }
    for kind, (title, heading, rank) in titles.items():
        of_kind = rows[rows["of"] == kind].head(_MOST_MODEL_ROWS)
        columns = [
            column("answer", of_kind["answer"]),
            column(heading, of_kind["level"]),
            column("estimate", map(_model_figure, of_kind.itertuples()), str),
            column(
                f"{percent(confidence)} interval",
                map(_model_limits, of_kind.itertuples()),
                str,
            ),
        ]
        if kind != PREDICTED:
            columns.append(column("p", of_kind["p"], ".2g"))
        yield Table(title, tuple(columns), rank)


def _model_figure(row: Any) -> str:
    """A share in per cent, another number to three digits."""
    return f"{row.estimate:.3g}" if isnan(row.share) else percent_with(1, row.share)


def _model_limits(row: Any) -> str:
    """From the lower to the upper limit, in the same unit; an open one claims nothing."""
    if isnan(row.share):
        if isnan(row.lower) or isnan(row.upper):
            return _open_limits(row.lower, row.upper)
        return f"{row.lower:.3g} to {row.upper:.3g}"
    return f"{percent_with(1, row.lower)} to {percent_with(1, row.upper)}"


def _open_limits(lower: float, upper: float) -> str:
    """Of which one side or both cannot be told."""
    if isnan(lower) and isnan(upper):
        return "not told"
    return f"at most {upper:.3g}" if isnan(lower) else f"at least {lower:.3g}"


def _answers(
    rows: DataFrame, part: str, confidence: float, smoothed: DataFrame | None = None
) -> Table:
    """Answers and their estimates, beside them those of a ``smoothed`` curve if there is one."""
    columns = [
        column("answer", rows["answer"]),
        column("estimate", map(_estimate, rows.itertuples()), str),
        column(
            f"{percent(confidence)} interval", map(_interval, rows.itertuples()), str
        ),
    ]
    if rows["processed"].notna().any():
        columns.append(column("processed", map(_processed, rows.itertuples()), str))
    if smoothed is not None and len(smoothed):
        written = map(_estimate, smoothed.itertuples())
        curve = dict(zip(smoothed["answer"], written, strict=True))
        cells = [curve.get(answer, "") for answer in rows["answer"]]
        columns.append(column("smoothed", cells, str))
    if rows["share"].notna().any():
        columns.insert(2, column("share", map(_share, rows.itertuples()), str))
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
    text = ", then ".join(" or ".join(map(repr, run)) for run in runs)
    alike = any(len(run) > 1 for run in runs)
    return (
        f"Most people first: {text}."
        + " What stands with 'or' is not told apart." * alike
    )


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
            column("difference", map(_gap, gaps.itertuples()), str),
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
            cells = dict(
                zip(
                    group_rows["answer"],
                    map(_gap, group_rows.itertuples()),
                    strict=True,
                )
            )
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
    row: _Row
    for row in rows.itertuples():
        value = _value_of(row.group)
        of_two_groups = not np.isnan(row.p)
        for text in _parts_of_remark(row):
            repeated = text in said_already and (of_two_groups or not value)
            if text.startswith(_AT_THE_END) or repeated:
                continue
            sentence = f"{text[0].upper()}{text[1:]}."
            if value and (sentence not in sentences or _is_quartile(row)):
                sentence = f"In {value}: {text}."
            sentences[sentence] = None
            said_already.add(text)
    return list(sentences)


def _remarks_at_the_end(frame: DataFrame) -> list[str]:
    """What was processed and how, and how exact weights are: once, with the questions it is of."""
    questions = dict[str, dict[str, None]]()
    row: _Row
    different = frame.drop_duplicates(["question", "remark"])  # there may be many rows
    for row in different.itertuples():
        for text in _parts_of_remark(row):
            if text.startswith(_AT_THE_END):
                questions.setdefault(text, {})[row.question] = None
    several = frame["question"].nunique() > 1
    sentences = []
    for text, names in questions.items():
        of = f" ({', '.join(names)})" if several else ""
        sentences.append(f"{text[0].upper()}{text[1:]}{of}.")
    return sentences


def _parts_of_remark(row: _Row) -> list[str]:
    """The sentences of a row's remark; that of a quartile may hold any sign of an answer."""
    if not row.remark:
        return []
    if not _is_quartile(row):
        return list(row.remark.split("; "))
    text, sign, weight = row.remark.rpartition(f"; {_WEIGHTED}")
    return [text, f"{_WEIGHTED}{weight}"] if sign else [row.remark]


def _is_quartile(row: _Row) -> bool:
    """Whether the row has no number, but a remark."""
    return np.isnan(row.estimate) and np.isnan(row.share)


# -- numbers, with the digits that mean something ---------------------------------------------


def _estimate(row: _Row) -> str:
    return _number(row.estimate, row)


def _processed(row: _Row) -> str:
    return _number(row.processed, row)


def _number(value: float, row: _Row) -> str:
    """People are whole; a mean and the like have the digits that its interval leaves."""
    if np.isnan(value):
        return ""
    if not np.isnan(row.share):
        return f"{round(value):,}"
    spread = (row.upper - row.lower) / 2
    if np.isnan(spread):
        spread = row.standard_error
    return as_exact_as(value, spread) if spread > 0 else quantity(value)


def _possible(row: _Row) -> tuple[float, float]:
    """Between which numbers it must be: a count, or a rate; a difference and a mean need not."""
    differs = not np.isnan(row.p) or row.of.startswith(_CHANGE)
    if row.answer == _RATE and not differs:
        return 0.0, 1.0
    if np.isnan(row.share) or differs:
        return -np.inf, np.inf
    # All whom the count is of; they are not needed where the limit is not above them.
    everybody = row.upper / row.share_upper if row.share_upper > 1 else np.inf
    return 0.0, everybody


def _limit(limit: float, row: _Row) -> str:
    """A limit, or with a mark the end of what can be where it is beyond that."""
    least, most = _possible(row)
    inside = min(max(limit, least), most)
    return _number(inside, row) + _CUT_MARK * (inside != limit)


def _interval(row: _Row) -> str:
    if np.isnan(row.upper):
        return "" if np.isnan(row.lower) else f"at least {_limit(row.lower, row)}"
    return f"{_limit(row.lower, row)} to {_limit(row.upper, row)}"


def _gap(row: _Row) -> str:
    if np.isnan(row.share):
        return f"{_estimate(row)} ({_interval(row)})"
    limits = []
    for share in (row.share_lower, row.share_upper):
        inside = share
        if np.isfinite(_possible(row)[0]):
            inside = min(max(share, 0.0), 1.0)
        limits.append(f"{100 * inside:.1f}{_CUT_MARK * (inside != share)}")
    return f"{_share(row)} ({limits[0]} to {limits[1]})"


def _share(row: _Row) -> str:
    """In per cent, with one decimal, and more where few have the answer and many were asked."""
    if np.isnan(row.share):
        return ""
    spread = 50 * (row.share_upper - row.share_lower)
    if np.isnan(spread) or spread >= 1:
        return f"{100 * row.share:.1f} %"
    if spread <= 0:
        return percent(row.share)
    return f"{as_exact_as(100 * row.share, spread)} %"


def files_blocks(collection: Collection) -> list[Block]:
    """What was counted, and what was left out."""
    reports = sum(part.users for part in collection.counted)
    files = len(collection.counted)
    sentences = [f"{reports:,} reports in {files:,} file{'s' * (files != 1)} counted."]
    if collection.resumed:
        sentences.append(
            f"{collection.resumed:,} of the files had been counted before."
        )
    if collection.repeated:
        sentences.append(
            f"{collection.repeated:,} times a report came again; each counts once."
        )
    sentences += [
        f"{n:,} people reported on {name!r}, more than were planned: was somebody counted twice, "
        "by reports drawn anew?"
        for name, n in collection.crowded.items()
    ]
    sentences += _contradictions(collection.contradictions)
    for folder, waiting in collection.waiting.items():
        sentences.append(
            f"{waiting:,} more reports wait in {folder}. They are in a file once the receiver "
            f"ends: ldp-planner receive ... --into {folder.parent}, and Control-C."
        )
    apart = [
        f"TAKEN OUT {path}: was counted earlier and is missing"
        for path in collection.dropped
    ]
    apart += [f"LEFT OUT {path}: {reason}" for path, reason in collection.quarantined]
    sentences += apart[:_MOST_FILES]
    if len(apart) > _MOST_FILES:
        sentences.append(
            f"... and {len(apart) - _MOST_FILES:,} more files (see --json)."
        )
    if collection.quarantined:
        sentences.append(
            "Have what was left out written or sent again, and count it all again."
        )
    # On one line each: a name with line ends must not look like another message.
    return [*said(part.replace("\n", "\\n") for part in sentences)]


def _contradictions(lines: Sequence[Contradiction]) -> list[str]:
    """Reports that are left out of files that count, the first by name."""
    if not lines:
        return []
    named = [
        f"LEFT OUT line {line.line} of {line.path}: {line.other} has a report of the same id "
        f"({line.report_id}) that says something else."
        for line in lines[:_MOST_FILES]
    ]
    if len(lines) > _MOST_FILES:
        named.append(f"... and {len(lines) - _MOST_FILES:,} more reports (see --json).")
    return named


def collection_json(collection: Collection, estimates: Columns) -> Document:
    """Everything of a collection."""
    return {
        "files": len(collection.counted),
        "files_counted_before": collection.resumed,
        "reports": sum(counted.users for counted in collection.counted),
        "repeated_reports": collection.repeated,
        "waiting_reports": {
            str(folder): waiting for folder, waiting in collection.waiting.items()
        },
        "left_out_reports": [
            {
                "file": str(line.path),
                "line": line.line,
                "id": line.report_id,
                "other": line.other,
            }
            for line in collection.contradictions
        ],
        "more_people_than_planned": collection.crowded,
        "taken_out": collection.dropped,
        "quarantined": [
            {"file": str(p), "reason": why} for p, why in collection.quarantined
        ],
        "estimates": estimates.to_pylist(),
        "note": _NO_TESTS,
    }


# Answers to two questions together


def _relations(parts: Sequence[str]) -> list[tuple[str, str, list[str]]]:
    """Every two parts of a joint question, and what the rows that relate them are ``of``."""
    return [
        (
            first,
            other,
            [
                f"{first} with {other}",
                f"{first} among {other}",
                f"{other} among {first}",
            ],
        )
        for first, other in combinations(parts, 2)
    ]


def _grid_blocks(
    rows: DataFrame, parts: Sequence[str], confidence: float
) -> Iterator[Block]:
    """The tables of a joint question's result, with what they tell."""
    for first, second, (association, *_) in _relations(parts):
        stated = rows[rows["of"] == association]
        if len(stated):
            yield Heading(f"{first} and {second}", level=3)
            yield from _grid(rows, first, second, confidence)
            yield from said(_association(stated.set_index("answer"), first, second))


def _grid(
    of_relation: DataFrame, first: str, second: str, confidence: float
) -> Iterator[Block]:
    """People of each pair of answers, and shares with limits within rows and within columns."""
    parts = dict(iter(of_relation.groupby("of")))
    rows, columns = (parts[name]["answer"].tolist() for name in (first, second))
    if len(columns) > _MOST_COLUMNS:
        yield Sentence(
            f"{len(columns)} columns are too many here: see the table of all estimates."
        )
        return

    def counted(part: DataFrame) -> list[str]:
        return [
            f"{row.estimate:,.0f} ± {row.standard_error:,.0f}"
            for row in part.itertuples()
        ]

    def grid(
        part: DataFrame, cells: list[str], below: Sequence[str] = ()
    ) -> list[Column]:
        texts = dict(zip(part["answer"], cells, strict=True))
        columns_shown = [column(first, [*rows, *["all"] * bool(below)])]
        for i, name in enumerate(columns):
            inside = [texts[f"{row}{JOINED}{name}"] for row in rows]
            shown = [*inside, *below[i : i + 1]]
            columns_shown.append(column(f"{second} = {name}", shown, str))
        return columns_shown

    cells = parts.get(f"{first} and {second}", parts[""])
    beside = [*counted(parts[first]), f"{of_relation['users'].iloc[0]:,}"]
    table = [
        *grid(cells, counted(cells), counted(parts[second])),
        column("all", beside, str),
    ]
    yield Table("People ± standard error", tuple(table), "everybody")
    for conditional, among in ((second, first), (first, second)):
        part = parts[f"{conditional} among {among}"]
        shares = [
            "not told"
            if np.isnan(x)
            else f"{100 * x:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
            for x, low, high in part[_SHARES].itertuples(index=False)
        ]
        title = f"{conditional} among {among}, {percent(confidence)} interval"
        yield Table(title, tuple(grid(part, shares)), "details")


def _direction(rows: DataFrame, first: str, second: str) -> str:
    """Whether the higher of one ordered answer goes with the higher of the other."""
    row = rows.loc[GAMMA]
    value, low, high = map(float, row[_LIMITS])
    shown = "not told" if isnan(value) else f"{value:.2f}"
    return (
        f"Goodman and Kruskal's gamma {shown} ({low:.2f} to {high:.2f}), p = {row['p']:.2g}: 1 if "
        f"a higher answer to {first} always goes with a higher one to {second}, -1 if with a lower "
        "one, 0 if neither."
    )


def _association(rows: DataFrame, first: str, second: str) -> list[str]:
    test = rows.loc[INDEPENDENCE]
    strength = rows.loc[CRAMERS_V]
    value, low, high = strength[_LIMITS]
    # The remark may have whole sentences in it.
    remark = str(test["remark"]).replace("; ", ". ").rstrip(".")
    fields = [
        f"Independence of {first} and {second}: Q = {test['estimate']:.4g}, p = {test['p']:.2g}; "
        f"{remark}.",
        f"Cramér's V {value:.2f} ({low:.2f} to {high:.2f}), the noise taken off.",
    ]
    if GAMMA in rows.index:
        fields.append(_direction(rows, first, second))
    odds = rows[rows.index.str.startswith(ODDS_RATIO)]
    with np.errstate(divide="ignore"):  # nearer to 1 than any other value that fits
        far = np.fmax(np.log(odds["lower"]), -np.log(odds["upper"].fillna(np.inf)))
    for name in far.sort_values(ascending=False, kind="stable").index[:_MOST_ODDS]:
        value, low, high = odds.loc[name, _LIMITS]
        limits = f"{low:.3g} or more" if np.isnan(high) else f"{low:.3g} to {high:.3g}"
        text = "not told" if np.isnan(value) else f"{value:.3g}"
        fields.append(
            f"{name[0].upper()}{name[1:]} against all others: {text} ({limits})."
        )
    return fields
