"""Audit anybody's client of a parameter file: its lines, and their fit to the file's integers.

What no audit sees is :data:`UNSEEN`. Seen is, at a stated chance of a false alarm and from a stated
deviation on:

- every line, byte for byte: the canonical form of a report that the collector counts;
- for each answer asked, how often each bit of a report, each cell that a collector counts, and
  each of these together with the parity of the report occurs, against as many reports and more
  drawn from the file's own integers (Fisher's exact test);
- each bit of the ids, answer against answer; ids and reports that repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np

from planner.arguments import finite, whole_number
from planner.arrays import Array, Whole
from planner.deployment.bulk import anchor_columns, answers_of, column_of
from planner.deployment.client.client import Report
from planner.deployment.collecting.engines import counter as counter_of
from planner.deployment.collecting.reports import read_line, rows_of
from planner.deployment.parameters import Parameters
from planner.errors import FileError, InputError
from planner.laws.answers import LEFT_OUT, Answer, Code
from planner.mechanisms import inputs
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Reports
from planner.mechanisms.words import system_words
from planner.survey.reading import AnswerFile
from planner.survey.survey import Survey
from planner.survey.tables import Reading
from planner.trial.black_box import BlackBox

UNSEEN = (
    "No audit sees a client that knows when it is audited, when and how fast it reports, what "
    "its ids hide beyond single bits, or that its randomness is computed from a secret key and the "
    "id, so that whoever has the key reads the answer."
)
# An audit of many reports asks in several starts, so that a client need not have all of
# its lines in memory.
_AUDIT_BYTES = 2**24  # of lines from one start
# Four times as many add a quarter to the variance of a comparison; more would take
# longer and find hardly more.
_HONEST = 4  # times as many reports are drawn from the integers
_REPEATED = 2000  # reports of each answer that are asked for again
# A two-sided normal chance of 0.3 per cent: far above what any single one of the tests may err by.
_PLAINLY = 3.0  # standard errors up to which no test takes a share for a fault
_ID_BITS = 64  # of the id of a report
_MOST_ASKED = 50  # answers of a file
_MOST_TRIED = 100  # cells of an answer, the farthest first
_Shares = tuple[Whole, Whole]  # reports that have something, and all of them


@dataclass(frozen=True, slots=True)
class Audit:
    """What lines of a client show.

    Attributes
    ----------
    question, answers, reports:
        What was asked, and how many reports of each answer.
    faults:
        A sentence each; none of an honest client, but for ``1 - confidence``.
    visible:
        A chance that is off by so much, in any cell, is found with probability 0.9 at least.
    tests, confidence:
        Number of tests; each errs with probability at most ``(1 - confidence) / tests``.
    """

    question: str
    answers: tuple[Answer, ...]
    reports: int
    faults: tuple[str, ...]
    visible: float
    tests: int
    confidence: float

    @property
    def passed(self) -> bool:
        """No fault was found."""
        return not self.faults

    @property
    def summary(self) -> str:
        """What no audit sees, and the verdict."""
        number = len(self.faults)
        verdict = "No fault found"
        if number == 1:
            verdict = "1 fault found"
        elif number > 1:
            verdict = f"{number} faults found"
        return (
            f"{UNSEEN} {verdict} in {self.reports:,} reports of each of {len(self.answers)} "
            f"answers; a chance that is off by {self.visible:.2g} is found 9 times of 10, "
            f"an honest client is accused with probability {1 - self.confidence:.1g} at most "
            f"({self.tests:,} tests)."
        )


def audit_client(
    parameters: Parameters,
    box: BlackBox,
    rng: np.random.Generator,
    question: str | None = None,
    answers: Sequence[Answer] = (),
    reports: int = 100_000,
    confidence: float = 0.999999,
) -> Audit:
    """Ask a black box for reports of known answers in random order, and judge them.

    Parameters
    ----------
    parameters:
        The file, proven.
    box:
        The client; it is started twice or more.
    rng:
        Mixes the order of the answers.
    question:
        Name of the question; may be left out if there is one.
    answers:
        Two or more; by default the first, the middle and the last, and none where there is such.
    reports:
        Per answer, at least 100.
    confidence:
        Probability that an honest client has no fault, at least 0.99, below 1.

    Raises
    ------
    InputError
        An argument is out of range, a question in rounds, or the box gives no verdict.
    """
    inputs.generator(rng)
    whole_number("reports", reports, 100, 10**8)
    if not 0.99 <= finite("confidence", confidence) < 1:
        remedy = "Write 99.9 % as 0.999."
        raise InputError("confidence", confidence, "at least 0.99, below 1", remedy)
    attempt = _Attempt(parameters, question, list(answers))
    # In random order, so that a client cannot tell the answers by their place.
    positions = np.arange(len(attempt.asked))
    order = rng.permuted(np.repeat(positions, reports))
    block = max(1, _AUDIT_BYTES // attempt.longest)
    # The same answers in the same order to two starts: equal reports show a seed that is fixed.
    repeated = min(block, _REPEATED * len(attempt.asked))
    again = order[:repeated]
    try:
        first = attempt.count(box, again)
        second, _ = attempt.read(box, again)
        attempt.repeats(first, second, again)
        for start in range(repeated, order.size, block):
            attempt.count(box, order[start : start + block])
        faults, tests, visible = attempt.judged(1 - confidence)
    except _Malformed as fault:
        # A line that is not a report's own form ends the audit: what can be hidden in
        # it needs no statistics.
        faults = (str(fault),)
        tests = 0
        visible = 1.0
    return Audit(
        question=attempt.name,
        answers=tuple(attempt.asked),
        reports=reports,
        faults=faults,
        visible=visible,
        tests=tests,
        confidence=confidence,
    )


def answers_in(
    data: Path,
    law: CollectedLaw,
    survey: Survey | None = None,
    reading: Reading | None = None,
) -> tuple[list[Answer], str]:
    """The different answers in a file, as a client takes them; and as what it was read.

    FileError if it cannot be read, or holds more than 50 different answers or what is none.
    """
    columns = [column_of(law, survey), *anchor_columns([law], survey)]
    file = AnswerFile(data, columns, reading)
    answers: dict[Code, None] = {}  # each once, in their order
    for block in file.blocks():
        (codes,) = answers_of([law], block)
        answers |= dict.fromkeys(code for code in codes if code is not LEFT_OUT)
    if len(answers) > _MOST_ASKED:
        reason = f"has {len(answers):,} different answers, and at most {_MOST_ASKED} are asked"
        raise FileError(data, reason, "Give some of its rows.")
    return [law.answer(code) for code in answers], file.read_as


class _Malformed(Exception):
    """A line that no honest client writes."""


class _Attempt:
    """Counts of one client's reports, answer by answer, and of four times as many honest ones."""

    def __init__(
        self, parameters: Parameters, question: str | None, asked: list[Answer]
    ) -> None:
        law = parameters.question(question)
        if law.rounds != (None,):
            allowed = "a question whose reports are made in one round"
            remedy = "Audit its law by `verify`."
            raise InputError("question", law.name, allowed, remedy)
        self.name = law.name
        self._law = law
        self._hash = parameters.hash
        self.asked = asked or _different(law.examples())
        # Refuses what is no answer, before the client is started.
        self._codes = [law.code(answer) for answer in self.asked]
        different = _different(self._codes)
        if len(self._codes) < 2 or len(different) < len(self._codes):
            allowed = "two or more that differ"
            raise InputError("answers", self.asked, allowed, "Name others.")
        # All lines of a question are as long as this one.
        payload = bytes(self._law.size)
        any_report = Report(self._hash, self.name, payload, "0" * 16)
        self.longest = len(any_report.to_json().encode())
        self._ids = set[str]()
        self._asked_of = 0
        answers = len(self.asked)
        features = self._features(self._drawn(self._codes))
        shape = (answers, len(features))
        # Of each answer how many reports have each bit and cell, the client's and honest ones.
        self._seen = np.zeros(shape, np.int64)
        self._honest = np.zeros(shape, np.int64)
        self._id_bits = np.zeros((answers, _ID_BITS), np.int64)
        self._reports = np.zeros((answers, 1), np.int64)
        # How many pairs of two starts agree, and how many pairs there are.
        self._agreeing = np.zeros(2, np.int64)
        self._honest_agreeing = np.zeros(2, np.int64)

    def read(self, box: BlackBox, order: Whole) -> tuple[Reports, Reports]:
        """Reports and ids of one start as bytes, shapes ``(n, size)`` and ``(n, 8)``."""
        answers = [self.asked[x] for x in order]
        payloads = []
        ids = []
        for number, line in enumerate(box(answers, self.longest), 1):
            report = self._parsed(line, number)
            payloads.append(report.payload)
            ids.append(bytes.fromhex(report.report_id))
            # All ids are kept, since a repeated id loses a report for the collector,
            # and a repeat may be millions of lines away.
            self._ids.add(report.report_id)
        self._asked_of += len(ids)
        return rows_of(payloads), rows_of(ids)

    def count(self, box: BlackBox, order: Whole) -> Reports:
        """The reports of one start, counted beside honest ones."""
        rows, ids = self.read(box, order)
        for x, code in enumerate(self._codes):
            of_answer = order == x
            try:
                self._seen[x] += self._features(rows[of_answer])
            except InputError as error:
                fault = f"No client as promised reports so: {error.reason}."
                raise _Malformed(fault) from error
            # Ids must be independent of answers: one bit that leans with the answer
            # betrays it, however well the report hides it.
            self._id_bits[x] += _ones(ids[of_answer])
            reports = int(of_answer.sum())
            self._reports[x] += reports
            # As many at a time as the client's own, so that honest reports need no more memory.
            for _ in range(_HONEST):
                honest = self._drawn([code] * reports)
                self._honest[x] += self._features(honest)
        return rows

    def repeats(self, first: Reports, second: Reports, order: Whole) -> None:
        """Count reports of two starts that agree, and honest ones that do."""
        codes = [self._codes[x] for x in order]
        # Short reports agree by chance; how often, honest ones say.
        self._agreeing += _agreeing(first, second)
        for _ in range(_HONEST):
            honest = self._drawn(codes)
            self._honest_agreeing += _agreeing(honest, self._drawn(codes))

    def judged(self, error: float) -> tuple[tuple[str, ...], int, float]:
        """Faults, number of tests, and the deviation of a chance that is found."""
        # Each may err by its part of the whole error: the chance of any false alarm is at most
        # the sum of the tests' own, whatever their dependence (Bonferroni).
        tests = self._seen.size + self._id_bits.size + 2
        error_of_test = error / tests
        n = self._reports
        seen = (self._seen, n)
        honest = (self._honest, _HONEST * n)
        faults = self._strange("a bit or cell", seen, honest, error_of_test)
        # Bits of an answer's ids against those of all others, not against one half: a client may
        # make ids in another way than by fair bits, as long as they say nothing of the answer.
        id_bits = (self._id_bits, n)
        bits_of_others = self._id_bits.sum(axis=0) - self._id_bits
        of_others = (bits_of_others, n.sum() - n)
        faults += self._strange("a bit of the id", id_bits, of_others, error_of_test)
        if self._repeats_too_often(error_of_test):
            fault = (
                "Reports repeat after a restart: the seed is fixed, they hide nothing."
            )
            faults.append(fault)
        # No test: among a million ids of 64 random bits a repeat has a chance below 1 in 10^7.
        if len(self._ids) < self._asked_of:
            faults.append("Ids repeat: a collector counts but one of such reports.")
        return tuple(faults), tests, self._visible(error_of_test)

    def _repeats_too_often(self, error: float) -> bool:
        """Whether more reports agree after a restart than honest ones do by chance."""
        same, pairs = self._agreeing.tolist()
        by_chance, honest_pairs = self._honest_agreeing.tolist()
        if same / pairs <= by_chance / honest_pairs:
            return False
        return fisher_p_value(same, pairs, by_chance, honest_pairs) < error

    def _visible(self, error: float) -> float:
        """The deviation of a chance, in the worst cell, that a test finds with probability 0.9."""
        share = self._honest / (_HONEST * self._reports)
        # Of the client's share, with the honest one in place of the true one; the variance of the
        # honest reports, of which there are more, adds a quarter.
        of_client = share * (1 - share) / self._reports
        variance = float(of_client.max()) * (1 + 1 / _HONEST)
        # It is found if it exceeds both quantiles, in standard errors.
        normal = NormalDist()
        reach = normal.inv_cdf(0.9) - normal.inv_cdf(error / 2)
        return sqrt(variance) * reach

    def _parsed(self, line: bytes, number: int) -> Report:
        """The report of a line that is what a collector counts, byte for byte."""
        try:
            report = read_line(line, f"Line {number}")
        except InputError as error:
            raise _Malformed(f"{error.reason}: the answer may stand in it.") from None
        expected = Report(self._hash, self.name, report.payload, report.report_id)
        if report != expected or len(report.payload) != self._law.size:
            reason = f"Line {number} is not, byte for byte, the line of a report of this question"
            raise _Malformed(f"{reason}: the answer may stand in it.")
        return report

    def _drawn(self, codes: Sequence[Code]) -> Reports:
        """Honest reports of some answers."""
        reports, *_ = self._law.draw_many(codes, system_words())
        return reports

    def _features(self, rows: Reports) -> Whole:
        """How many reports have each bit and cell; the same of those with an odd number of ones."""
        # Chances of single bits do not show how bits depend on each other; odd reports do.
        numbers_of_ones = np.bitwise_count(rows).sum(axis=1)
        odd = numbers_of_ones % 2 == 1
        # The number of odd reports is a feature of its own: it may be off where every
        # bit and cell keeps its chance.
        features = [np.array([odd.sum()])]
        for reports in (rows, rows[odd]):
            counter = counter_of(self._law)
            if len(reports):
                counter.add(np.ascontiguousarray(reports))
            features.append(_ones(reports))
            features.append(counter.sums().counts)
        return np.concatenate(features)

    def _strange(
        self, what: str, seen: _Shares, honest: _Shares, error: float
    ) -> list[str]:
        """Answers of which some cells are too far from the honest ones, the farthest named."""
        ones, n = seen
        honest_ones, m = honest
        scores = _normal_scores(seen, honest)
        faults = []
        for x, answer in enumerate(self.asked):
            draws = int(n[x, 0])
            honest_draws = int(m[x, 0])
            # Normal scores say which cells to test; among these Fisher's exact test decides. It
            # takes far longer, so that only the farthest cells are given to it, and none that are
            # near. Leaving cells out adds no false alarm.
            farthest = np.argsort(-scores[x], kind="stable")
            for cell in farthest[:_MOST_TRIED]:
                if scores[x, cell] <= _PLAINLY:
                    break
                hits = int(ones[x, cell])
                honest_hits = int(honest_ones[x, cell])
                chance = fisher_p_value(hits, draws, honest_hits, honest_draws)
                if chance < error:
                    honest_share = f"{honest_hits / honest_draws:.6g}"
                    shares = f"{hits / draws:.6g} of its reports, not {honest_share}"
                    faults.append(f"Answer {answer!r}: {what} is set in {shares}.")
                    break
        return faults


def _different(answers: Iterable[Answer]) -> list[Answer]:
    """Each answer once, in their order; lists among them, which nothing hashes."""
    # By their text, in which 1, 1.0 and True differ, although Python takes them for equal.
    by_text = {repr(answer): answer for answer in answers}
    return list(by_text.values())


def _normal_scores(first: _Shares, second: _Shares) -> Array:
    """How far two shares of each cell are apart, in standard errors of one probability."""
    ones, n = first
    others, m = second
    share = (ones + others) / (n + m)
    # The bound keeps a cell that is never or always set from dividing by zero; its distance is 0.
    variance = np.maximum(share * (1 - share), 1e-300)
    of_both = variance * (1 / n + 1 / m)
    distance = np.abs(ones / n - others / m)
    return distance / np.sqrt(of_both)


def _agreeing(first: Reports, second: Reports) -> Whole:
    """How many reports are equal in both, and how many there are, shape ``(2,)``."""
    equal = (first == second).all(axis=1)
    numbers = [equal.sum(), equal.size]
    return np.array(numbers, np.int64)


def _ones(rows: Reports) -> Whole:
    """How many reports have each bit, shape ``(bits,)``."""
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    return bits.sum(axis=0, dtype=np.int64)


def fisher_p_value(hits: int, draws: int, others: int, other_draws: int) -> float:
    """Fisher's exact test, both sides: that two shares are of one probability."""
    from scipy.stats import hypergeom

    # Given how many of all reports have the bit, the number among the client's is
    # hypergeometric if both have one chance (Fisher, 1935).
    all_draws = draws + other_draws
    law = hypergeom(all_draws, hits + others, draws)
    # Twice the smaller tail, at most 1: the common way to two sides, which never errs
    # more often than stated.
    at_most = float(law.cdf(hits))
    at_least = float(law.sf(hits - 1))
    return min(1.0, 2 * min(at_most, at_least))
