"""What is said of one kind of question or one form of report alone, and what is proven."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from planner.laws.answers import COUNTS
from planner.laws.shape import octets
from planner.laws.sides import TYPE_BYTES
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.answer_rates import AnswerRateModel
from planner.planning.by_level import ByLevel
from planner.planning.joint import POWER, STRENGTH, Related
from planner.planning.outsiders import OutsiderView
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.planning.sets import Padded, SetPromises
from planner.policy.budget_text import factor_up
from planner.show.blocks import (
    Block,
    Heading,
    Sentence,
    Table,
    column,
    people,
    percent,
    quantity,
    said,
)
from planner.solvers.answers import Channel, SubsetDesign, UnaryTable
from planner.survey.asked_again import AskedAgain
from planner.survey.ordinal import NumberCells

_NOTHING_GAINED = 1e-5  # of a squared error: the digits of what is planned
_SAME_GAP = 1e-3  # of a gap: of the smaller error it is the same
_FOR = {
    "worst-case": "for the least favourable answers",
    "expected": "for the expected answers",
    "minimax": "for an answer that few people have",
}
_NOT_KNOWN = "how near it is to the best is not known"
COST = "About one of them alone a report may say as much as about all together."
_APART = (
    "Answers to different questions cannot be related: their reports are not linked."
)


# What is said of one kind alone


class KindWords:
    """What is said of a kind of question alone; of choices, and what others say otherwise.

    ``between`` whom and ``whose`` odds reports do not change, what the errors ``drowned`` in noise
    leave, and which ``points`` a proof of a channel is about.
    """

    between = "an answer and any other"
    whose = "for"
    drowned = "believe only items far above their standard error"
    points = ""

    def objective(self, asked: Any) -> str:
        """Which error is made small."""
        if asked.of_mean:
            return "error of the mean"
        what = f"total error{self.of_what(asked)}"
        if asked.objective.kind == "minimax":
            what = "error of the worst single item"
        if asked.objective.weights is not None:
            return f"weighted {what}"
        return what

    def of_what(self, asked: Any) -> str:
        """The quantity that has the error, in words, where it is not a count."""
        return ""

    def answers(self, plan: QuestionPlan) -> str:
        """The answers for which the error holds, in words."""
        question: Any = plan.question
        return _FOR[question.objective.kind]

    def off(self, asked: Any) -> str:
        """The quantity that is off by that error, in words."""
        if asked.of_mean:
            return "the mean is off"
        if asked.objective.kind == "minimax":
            return "an answer's count is off"
        return "the counts of all answers are off together"

    def assumed(self, plan: QuestionPlan) -> str:
        """What is assumed as the survey does not state it; empty for nothing."""
        return ""

    def report(self, plan: QuestionPlan) -> list[str]:
        """What a report says and how large it is."""
        sentences = [CATALOGUE[plan.deployed.mechanism].report]
        design = plan.fact(SubsetDesign)
        if design is not None:
            items = int(design.policy.item_counts.sum())
            types = f"{design.types.size} types"
            if design.types.size == 1:
                types = "1 type"
            sentences.append(
                f"The design has {types} of reports. Each says its type "
                f"and the sides of all {items:,} answers, {TYPE_BYTES + octets(items):,} bytes."
            )
        levels = plan.fact(ByLevel)
        # Without this sentence zeros read as if nothing could be learnt of these answers.
        if design is not None and levels is not None and not levels.a.all():
            sentences.append(
                "An answer with a = b = 0 is on the low side in every report: "
                "who has it is told by the sides of all other answers."
            )
        return sentences

    def guessed(self, view: OutsiderView) -> str:
        """What an outsider guesses."""
        if view.set_size:
            whose = f"any {view.set_size:,} of {view.answers:,} answers"
            return f"one answer of a person who has {whose}"
        return f"the likeliest of {view.answers:,} answers, all as likely before,"


class _OfSets(KindWords):
    """Several answers."""

    between = "a set of answers and any other"
    whose = "where the least protected is"

    def answers(self, plan: QuestionPlan) -> str:
        padded = plan.fact(Padded)
        if padded is not None and padded.plan is not None:
            return "for sets of the sizes that are expected"
        return super().answers(plan)

    def assumed(self, plan: QuestionPlan) -> str:
        padded = plan.fact(Padded)
        if padded is None or not padded.read_as:
            return ""
        return f"Pilot r{padded.read_as[1:]}"

    def report(self, plan: QuestionPlan) -> list[str]:
        padded = plan.fact(Padded)
        (first, *rest) = super().report(plan)
        if padded is None or plan.fact(SetPromises) is not None:
            return [first, *rest]
        drawn = f"One of a person's answers, padded or cut to {padded.length}, is drawn as their"
        return [f"{drawn} own. {first}", *rest]


# By the benchmark of distributions (docs/theory/channels.md): where the smoothed curve is nearer,
# it is by a seventh at most; where it is farther, by up to a half.
CURVES = (
    "Results are of the consistent curve, which has limits. The smoothed one (EMS) beside it is a "
    "little nearer where people are known to be spread smoothly and the budget is 2 or more; "
    "spikes it flattens."
)


class _OfScales(KindWords):
    """One answer out of a few in order."""

    drowned = "most shares say nothing"

    def of_what(self, asked: Any) -> str:
        if asked.wanted == COUNTS:
            return " of the counts"
        return " of the cumulative shares"

    def off(self, asked: Any) -> str:
        return super().off(asked).replace("of all answers", "up to each answer")

    def assumed(self, plan: QuestionPlan) -> str:
        question = plan.question
        # How a number was cut into cells is the planner's choice, not the survey's.
        if isinstance(question, NumberCells):
            return question.reason
        return ""

    def answers(self, plan: QuestionPlan) -> str:
        said = super().answers(plan)
        if plan.question.of_mean:
            return f"{said} among the people asked"
        return said

    def report(self, plan: QuestionPlan) -> list[str]:
        channel = plan.fact(Channel)
        assert channel is not None  # noqa: S101 - of ordered answers
        none = getattr(plan.question, "no_answer", None)
        # "No answer" is a symbol of the channel, but has no place in the order.
        in_order = len(channel.symbols)
        if none is not None:
            in_order -= 1
        answers = f"{in_order} ordered answers"
        if none:
            answers += f" and {none!r}"
        said = f"The channel has {channel.outputs} reports for {answers}."
        if not isinstance(plan.question, NumberCells):
            return [said]
        return [said, CURVES]


class _OfNumbers(KindWords):
    """A number, or none."""

    between = "two numbers, or a number and no answer,"
    points = ", for these points and no answer,"

    def guessed(self, view: OutsiderView) -> str:
        what = "the lowest number, the highest"
        if view.answers > 2:
            what = f"{view.answers} numbers"
        return f"which it is of {what} and no answer, all as likely before,"

    def answers(self, plan: QuestionPlan) -> str:
        model = plan.fact(AnswerRateModel)
        assert model is not None  # noqa: S101 - of numbers
        missing = 100 * (1 - plan.kind.answer_rate(plan.part.question))
        drawn = f"of people drawn at random, {missing:.3g} % of them without one"
        return f"for {whose_answers(model)} {drawn}"

    def assumed(self, plan: QuestionPlan) -> str:
        question: Any = plan.part.question
        model = plan.fact(AnswerRateModel)
        unknown = []
        if question.refusals is None and question.preferences is None:
            unknown.append(f"{percent(question.refusing)} of the people give no answer")
        # Yes and no have the spread of their share; the least favourable answers the largest.
        needs_spread = not question.yes_no and not (model and model.any_answers)
        if question.sd is None and needs_spread:
            unknown.append("answers spread by 0.3 of half the range")
        if not unknown:
            return ""
        other = "Where people are others, errors may be larger."
        return f"Assumed, as it is not stated: {', and '.join(unknown)}. {other}"

    def report(self, plan: QuestionPlan) -> list[str]:
        channel = plan.fact(Channel)
        if channel is None:
            return []
        return [
            f"The channel has {channel.outputs} reports for {channel.policy.size - 1} points of "
            "the range and no answer; an answer between two points is rounded to either at random."
        ]


class _OfTwoRounds(KindWords):
    """A rare answer, asked in two rounds."""

    def objective(self, asked: Any) -> str:
        return "largest error of a count at 95 %"

    def answers(self, plan: QuestionPlan) -> str:
        return "at the expected counts"


WORDS = {
    "categorical": KindWords(),
    "joint": KindWords(),
    "item-set": _OfSets(),
    "ordinal": _OfScales(),
    "numeric": _OfNumbers(),
    "sampled-choice": _OfTwoRounds(),
}


def whose_answers(model: AnswerRateModel) -> str:
    """The people for whose answers the error of a mean is predicted, in words."""
    if model.any_answers:
        return "the least favourable answers"
    whose = "the worst of five means"
    if model.mean is not None:
        whose = f"answers around {model.mean:g}"
    if model.domain.yes_no:
        return whose
    return f"{whose} (spread {model.spread:.6g})"


def words(plan: QuestionPlan) -> KindWords:
    """What is said of its kind alone."""
    return WORDS[plan.question.kind]


def error_text(plan: QuestionPlan) -> Callable[[float | None], str]:
    """How its errors are written: as people, or in the unit of a mean."""
    if plan.question.of_mean:
        return quantity
    return people


def objective_name(plan: QuestionPlan) -> str:
    """Which error is predicted and made small."""
    return words(plan).objective(plan.question)


def answers(plan: QuestionPlan) -> str:
    """The answers for which the error holds, in words, and the people asked where not all are."""
    text = words(plan).answers(plan)
    if plan.part.people < plan.part.everybody:
        text += f", among the {plan.part.people:,} people asked"
    return text


def measure(plan: QuestionPlan) -> str:
    """Which error it is, and for which answers."""
    return f"{objective_name(plan).capitalize()}{in_round(plan)}, {answers(plan)}"


def in_round(plan: QuestionPlan) -> str:
    """What is added to the name of an error where it is one of a round."""
    if plan.again is None:
        return ""
    return " in a round"


def share_of(plan: QuestionPlan) -> str:
    """The whole that the error is a share of, in words."""
    if plan.question.of_mean:
        return "half the range"
    return "the people who answer"


def is_asked_in_full(question: QuestionPlan) -> bool:
    """Whether everybody answers it, with all of its budgets."""
    return question.part.share == 1 and question.part.fraction == 1


def kept_shares(question: QuestionPlan) -> str:
    """Which shares what is said of other budgets rests on; empty where there is one question.

    No key of a survey file fixes shares: they are planned with its budgets.
    """
    if is_asked_in_full(question):
        return ""
    return (
        " if its shares of budgets and people stayed as they are "
        "(the next plan shares them anew)"
    )


def short(label: str) -> str:
    """A mechanism's name without what its label adds behind a comma."""
    return label.partition(",")[0]


def within(gap: float) -> str:
    """A relative gap in percent, rounded up to one digit where it is below 1 %."""
    digits = max(0, -math.floor(math.log10(max(100 * gap, 1e-4)) + 1e-9))
    return f"{math.ceil(max(gap, 1e-6) * 10 ** (digits + 2) - 1e-6) / 10**digits:g} %"


# What is proven


class _Proof(NamedTuple):
    """A proof that nothing ``among`` these has an error, ``what``, smaller by more than the gap."""

    gap: float
    among: str
    what: str
    where: str = ""


def proven_in_short(question: QuestionPlan) -> str:
    """How good the plan is, and among which mechanisms; empty where nothing is proven."""
    for proof in _proofs(question):
        if proof.gap < 1e-6:
            return f"proven best{proof.where}"
        if proof.gap < 1:
            return f"proven within {within(proof.gap)} of the best{proof.where}"
        return f"proven no worse than {1 + proof.gap:.1f} times the best{proof.where}"
    if question.bound_unknown:
        return _NOT_KNOWN
    return ""


def certificate_sentences(question: QuestionPlan) -> list[str]:
    """What is proven of the error; nothing where nothing is."""
    sentences = []
    for proof in _proofs(question):
        among = proof.among.removesuffix(",")
        # A small gap is what could be gained; of a large one its factor says more than per cents.
        if proof.gap < _SAME_GAP:
            lowers = f"no {proof.among} lowers the {proof.what}"
            sentences.append(f"Proven: {lowers} by more than {within(proof.gap)}.")
        elif proof.gap < 1:
            near = f"within {within(proof.gap)} of the least"
            sentences.append(f"Proven: the {proof.what} is {near} of any {among}.")
        else:
            far = f"no more than {1 + proof.gap:.1f} times the least"
            sentences.append(f"Proven: the {proof.what} is {far} of any {among}.")
    reason = _STOPPED.get(_why_stopped(question))
    if reason is not None:
        sentences.append(f"The search for a better mechanism ended: {reason}.")
    if question.bound_unknown:
        sentences.append(f"Not proven: {_NOT_KNOWN} among mechanisms of any kind.")
    return sentences


_STOPPED = {
    "digits": "the computer's numbers have no more digits",
    "rounds": "it did all the work that it may",
    "columns": "no kind of report is known that would close a tenth of the gap",
    "levels": "too many levels differ, and the best table is taken",
}


def _why_stopped(question: QuestionPlan) -> str:
    """Why the search of a choice's mechanism ended early, where that leaves a gap worth saying."""
    law = question.fact(SubsetDesign) or question.fact(UnaryTable)
    if law is None:
        return ""
    certificate = law.certificate
    if certificate is None or certificate.relative_gap < _SAME_GAP:
        return ""
    return certificate.stopped


def _proofs(question: QuestionPlan) -> Iterator[_Proof]:
    """What is proven, first of what is most like the plan."""
    sets = question.fact(SetPromises)
    channel = question.fact(Channel)
    what = objective_name(question)
    if sets is not None and math.isfinite(sets.gap):
        among = "mechanism of any kind that keeps these budgets, with any unbiased estimates,"
        worst = f"the worst set of {sets.length}"
        yield _Proof(sets.error_gap, among, f"error for {worst}", f" for {worst}")
    elif channel is not None and channel.certificate is not None:
        proof = channel.certificate
        among = f"mechanism of any kind{words(question).points} that keeps these budgets and"
        estimates = f"answers once, with any {proof.estimates},"
        yield _Proof(proof.error_gap, f"{among} {estimates}", what)
    elif channel is None and sets is None:
        among_tables = _proof_among_tables(question, what)
        among_all = _proof_among_all(question, what)
        proofs = [among_tables, among_all]
        # Where no design is better than a table, that is what is said of it in short.
        for option in question.solved_options:
            if option.of_all and option.refused:
                proofs = [among_all, among_tables]
        for known in proofs:
            if known is not None:
                yield known


def _proof_among_tables(question: QuestionPlan, what: str) -> _Proof | None:
    """The proof that no table of its model is much better, at this padding length if of sets."""
    table = question.fact(UnaryTable)
    if table is None or question.proven_gap is None:
        return None
    padding = ""
    padded = question.fact(Padded)
    if padded is not None:
        padding = f" at padding length {padded.length}"
    among = f"{table.model} table that keeps these budgets{padding}"
    where = f" of those with a bit for each answer{padding}"
    return _Proof(question.proven_gap, among, what, where)


def _proof_among_all(question: QuestionPlan, what: str) -> _Proof | None:
    """The proof that no mechanism of any kind is much better."""
    if question.noise_gap is None:
        return None
    among = (
        "mechanism of any kind that keeps these budgets and answers once, with any "
        "unbiased estimate,"
    )
    # The bound is of the noise alone; who is drawn to be asked adds the same to every mechanism.
    if question.part.fraction != 1:
        what += ", as of those who are asked,"
    where = ""
    if question.fact(UnaryTable) is not None:  # beside what is proven among tables
        where = " of all mechanisms"
    return _Proof(question.noise_gap, among, what, where)


# Sets


def set_blocks(question: QuestionPlan) -> list[Block]:
    """The padding length, what it cuts, and what that rests on; nothing for other questions."""
    padded = question.fact(Padded)
    if padded is None:
        return []
    length = padded.length
    plan = padded.plan
    longer = padded.longer
    if longer is None:
        unknown = "how many people have such sets is not known, and the errors are for the others"
        return [Sentence(f"Sets of more than {length} items are cut; {unknown}.")]
    if plan is None or not longer.sizes:
        return [Sentence(f"No set has more than {length} items: none is cut.")]
    low = plan.flat_lower
    high = plan.flat_upper
    most = longer.largest_bias(question.part.people)
    chosen = f"Padding length {length}"
    if padded.given:
        chosen += ", as set in the survey"
    best = f"the best is {plan.length}"
    if low < high:  # how little depends on it
        best = f"any from {low} to {high} is within 5 % of the best, {plan.length}"
    lost = plan.lost[min(length, int(plan.lengths[-1])) - 1]  # beyond, nothing changes
    blocks: list[Block] = [
        Sentence(
            f"{chosen}; {best}. Sets of more than {length} "
            f"items are cut: {percent(lost)} of all answers are lost, and a count comes out too "
            f"small by {people(most)} people at most, which upper limits allow for."
        )
    ]
    if lost > 0:
        if padded.uncut is not None:
            whole, error = padded.uncut
            figure = f"none of these sets: {people(error)} people of error."
            blocks.append(
                Sentence(f"A padding length of {whole} cuts {figure}", "details")
            )
        if not padded.read_as:  # no pilot
            assumed = "Which items the long sets hold is assumed: a pilot tells more."
            blocks.append(Sentence(assumed, "details"))
    return blocks


def cap_sentence(question: QuestionPlan) -> str:
    """What a cap of twice the budget for any two sets would buy, and what it gives up."""
    sets = question.fact(SetPromises)
    if sets is None or sets.larger_cap is None:
        return ""
    cap, error = sets.larger_cap
    return (
        f"With a budget of {cap:.4g} for any two sets the error is {people(error)} people: several "
        "sensitive answers together are then protected by it only."
    )


# Rounds


def drawn_anew(again: AskedAgain) -> str:
    """How often answers change that do not stay."""
    if not isinstance(again.changes, int) or again.changes >= again.count - 1:
        return "if drawn anew every round"
    if again.changes == 1:
        return "if drawn anew once"
    return f"if drawn anew {again.changes} times"


def round_blocks(question: QuestionPlan, *, details: bool) -> list[Block]:
    """Errors of a round, of the average and of a change, and other ways of asking again."""
    again = question.question.rounds
    if again is None:
        return []
    ways, bound = question.ways(others=details)
    deployed = ways[0]
    anew = drawn_anew(again)

    in_unit = error_text(question)

    def error(*squared: float | None) -> str:
        known = []
        for square in squared:
            if square is not None:  # some ways have no error of an average or a change
                known.append(in_unit(question.part.total(square)))
        return " / ".join(known)

    seen = ""
    if not deployed.hidden:
        seen = ", and an observer may see when an answer changes"
    note = (
        "L-OSUE, LOLOHA and RAPPOR are by their own accounting, at the smallest budget."
    )
    names = []
    changes = []
    of_round = []
    of_average = []
    of_change = []
    for scheme in ways:
        names.append(scheme.name)
        if scheme.hidden:
            changes.append("hidden")
        else:
            changes.append("seen")
        of_round.append(question.part.total(scheme.each))
        of_average.append(error(scheme.average_stays, scheme.average_anew))
        of_change.append(error(scheme.change_stays, scheme.change_anew))
    columns = (
        column("way", names),
        column("changes", changes),
        column("a round", of_round, in_unit, bars=True),
        column("average", of_average, str),
        column("change", of_change, str),
    )
    blocks: list[Block] = [
        Sentence(f"Asked {again.count} times, {deployed.name} a person{seen}."),
        Heading("Other ways of asking again", "details", 3),
        Table(
            f"Error, {question.question.unit}: if answers stay / {anew}",
            columns,
            accent=0,
        ),
    ]
    if "L-OSUE" in names:  # the ways of others are all there, or none
        blocks += said([note], rank="details")
    if bound is not None:
        text = (
            "Proven: no protocol with unbiased estimates that keeps these budgets between any two "
            f"such histories has an error of a round below {error(bound)} {question.question.unit}."
        )
        blocks += said([text], "proof", "details")
    return blocks


# Two answers together


def related_blocks(question: QuestionPlan) -> list[Block]:
    """What a joint question tells: errors of table and margins, also asked apart; association."""
    related = question.fact(Related)
    if related is None:
        return []
    shares = related.shares_of_people
    columns = (
        column("table", [" x ".join(related.names), *related.names]),
        column("asked together", shares.together, percent, bars=True),
        column("apart, budgets split", shares.split, percent),
        column("one question each", ["none", *map(percent, shares.one_each)], str),
    )
    sentences = [
        f"To see with {100 * POWER:.0f} % chance that {first} and {second} go together (Cramér's V "
        f"{STRENGTH:g}, tested at 5 %) takes {needed:,} people."
        for (first, second), needed in related.people.items()
    ]
    title = "Total error, a share of the people asked"
    return [
        Table(title, columns, "everybody"),
        *said([_gains(related), *sentences, _cost(related)]),
    ]


def _unused(related: Related) -> str:
    """What the larger budgets of a part could still gain, where pairs of answers do without."""
    if not related.unused_budgets:
        return ""
    text = (
        " Every two pairs of answers keep the smaller budget; who knows one answer might learn of "
        "the other as much as its question promises."
    )
    if related.least_table is None:
        return text
    gain = 1 - related.least_table / related.table
    if gain < _NOTHING_GAINED:
        return f"{text} No mechanism has a better table by that."
    return f"{text} By that a table's squared error could be {100 * gain:.3g} % smaller, no more."


def _cost(related: Related) -> str:
    """What a report may say of each of the questions alone."""
    if related.said_of_parts is None:
        return f"{COST}{_unused(related)}"
    odds = []
    for name, nats in zip(related.names, related.said_of_parts, strict=True):
        odds.append(f"{factor_up(nats)}-fold for {name}")
    return (
        "Between sheets that differ in one question a report changes the odds at most "
        f"{' and '.join(odds)}, also for somebody who knows the rest of the sheet."
    )


def apart_sentences(plan: SurveyPlan) -> list[str]:
    """Sentences: questions asked apart cannot be related; what asking two together would have."""
    of_one_answer = 0
    for question in plan.questions:
        of_one_answer += question.question.draws_one or question.question.joins
    if of_one_answer < 2:
        return []
    together = plan.together
    if together is None or together.gains[0] <= 1:
        return [_APART]
    names = " and ".join(together.names)
    offer = f'Asked together, by a question of kind "joint", {names} have a table.'
    return [f"{_APART} {offer} {_gains(together)} {COST}"]


def _gains(related: Related) -> str:
    table, margins = related.gains
    text = (
        f"The table's squared error is {table:.3g} times smaller than asked apart, budgets split "
        "(one question each gives no table)"
    )
    if table <= 1:
        return "Asked apart with the budgets split the table would be as exact."
    if margins > 1:
        return f"{text}, and those of the questions alone are {margins:.3g} times smaller, too."
    return f"{text}; those of the questions alone are {1 / margins:.3g} times larger."
