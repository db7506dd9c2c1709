"""The client: one person's answer in, one randomised report out. Standard library only."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from json.encoder import encode_basestring
from pathlib import Path

from planner.deployment.client.document import (
    content_hash,
    line_check,
    parse_document,
    read_document,
    read_questions,
)
from planner.deployment.client.sealed import Memory
from planner.errors import FileError, InputError, VerificationError
from planner.laws.answers import Code
from planner.laws.drawing import Drawing
from planner.laws.law import DEVICE, Law
from planner.laws.schema import Document
from planner.laws.source import system

# With 2^64 values, two of a million reports have the same id with a probability below 1
# in 10^7.
_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class Report:
    """A randomised answer: all that leaves the person's device.

    Attributes
    ----------
    parameters:
        Content hash of the parameter file.
    question:
        Name of the question.
    payload:
        The report itself; its size depends on the question only.
    report_id:
        Eight random bytes in hexadecimal, so that a report sent twice can be told from
        two equal reports. The rounds of one person have different ones.
    round_number:
        For a question asked in rounds, from 1; else ``None``.
    """

    parameters: str
    question: str
    payload: bytes
    report_id: str
    round_number: int | None = None

    def to_json(self) -> str:
        """One line of a report file.

        Keys ``parameters``, ``question``, ``id``, ``report`` (base64), ``check`` (a checksum, see
        ``line_check``) and, for a question in rounds, ``round``.
        """
        report = b64encode(self.payload).decode()
        parameters = encode_basestring(self.parameters)
        question = encode_basestring(self.question)
        report_id = encode_basestring(self.report_id)
        number = ""
        if self.round_number is not None:
            number = f',"round":{self.round_number}'
        check = line_check(
            self.parameters, self.question, self.report_id, self.round_number, report
        )
        # Written by hand, in one way: collectors compare lines byte for byte.
        return (
            f'{{"parameters":{parameters},"question":{question},"id":{report_id}{number},'
            f'"report":"{report}","check":"{check}"}}'
        )


class Client:
    """Randomises answers as a parameter file says, after proving the file's promises.

    Every draw is an exact integer comparison on bytes of the operating system's
    generator; there is no seed. An answer is checked before anything is drawn, and
    nothing but a report ever leaves.

    Parameters
    ----------
    parameters:
        A parameter file, or its parsed document.
    memory:
        File in which reports are remembered; needed to give ``user``.

    Raises
    ------
    FileError
        The file is not exactly right, or the memory cannot be used.
    VerificationError
        The parameters do not keep the budgets they promise.

    Examples
    --------
    >>> from planner import Level, Categorical, Survey
    >>> from planner.deployment.parameters import parameters_from_mechanisms
    >>> from planner.mechanisms.making import randomized_response
    >>> survey = Survey("s", 10, (Categorical("q", (Level("all", 1.1, ("a", "b", "c")),)),))
    >>> mechanisms = {"q": randomized_response(1.1, items=3)}
    >>> client = Client(parameters_from_mechanisms(survey, mechanisms).document)
    >>> len(client.report("q", "b").payload)
    8
    >>> client.report("q", "d")
    Traceback (most recent call last):
    ...
    planner.errors.InputError: answer is 'of type str' but must be the name of an item of ...
    """

    __slots__ = ("_drawing", "_hash", "_laws", "_memory")

    def __init__(
        self,
        parameters: str | Path | Document,
        memory: str | Path | Memory | None = None,
    ) -> None:
        if isinstance(parameters, Mapping):
            source = "parameters"
            # Written as text and parsed again: a dictionary built in memory must pass
            # the same rules as a file, such as no NaN and no deep nesting.
            document = parse_document(_dumped(parameters))
        else:
            source = str(parameters)
            document = read_document(parameters)
        self._hash = content_hash(document)
        laws = read_questions(document, source, Law, DEVICE)
        self._laws = {law.name: law for law in laws}
        self._drawing = Drawing.read(document)
        if memory is None or isinstance(memory, Memory):
            self._memory = memory
        else:
            self._memory = Memory(memory)

    @property
    def questions(self) -> tuple[str, ...]:
        """Names of the questions."""
        return tuple(self._laws)

    @property
    def parameter_hash(self) -> str:
        """Content hash of the parameters, which every report carries."""
        return self._hash

    def report(
        self,
        question: str,
        answer: object,
        *,
        user: str | None = None,
        round_number: int | None = None,
        changed: bool = False,
    ) -> Report:
        """A randomised report of one answer.

        Parameters
        ----------
        question:
            Name of the question.
        answer:
            An item's name, or its number where items have no names; for item sets a list
            of them; for a number the number, ``None`` or NaN for no answer; for Sampling
            Privacy a value's name, ``None`` for none of them. Of a question with an anchor a list
            of two: the answer to the question, and the one to its anchor.
        user:
            Needed where each person answers some of the questions, see :meth:`questions_of`.
            If given, the report is remembered for this person for good: asked again,
            whatever the answer, the same report is returned and no more budget is spent.
        round_number:
            1 or 2 for a question of Sampling Privacy, which needs ``user``: both rounds share
            one throw of the die, and must not reach anybody who can link them. Once round two
            is given, round one is forgotten and refused. For a question that is asked again the
            round that it is asked in, from 1, with ``user``; see :meth:`own_round`.
        changed:
            Where a person reports one value: whether the answer has changed since they were last
            asked. Only the person knows; no answer is stored.

        Raises
        ------
        InputError
            An unknown question, an answer that is none of the question's, or ``user`` or
            ``round_number`` missing or misplaced. Nothing has been drawn then.
        FileError
            The memory cannot be used; nothing is released.
        """
        if type(question) is not str or question not in self._laws:
            allowed = f"one of {', '.join(self._laws)}"
            remedy = "Name a question of the parameter file."
            raise InputError("question", question, allowed, remedy)
        law = self._laws[question]
        # The answer is checked before anything is drawn or written, so that a refusal
        # leaves no trace of it in the memory.
        code = law.code(answer)
        self._check_round(law, user, round_number, changed)
        self._require_drawn(question, user)
        if user is None:
            return self._released(question, _drawn(law, code))
        memory = self._memory_for(user)
        key = (self._hash, user, question)
        if round_number is None:
            kept = memory.change(key, partial(_first, partial(_drawn, law, code)))
            return self._released(question, kept)
        if law.again is not None:
            own_part = law.again.own(self._hash, question, user)
            step = partial(_in_own_round, law, code, own_part, round_number)
            if law.blanks:
                step = partial(_next_value, law, code, own_part, round_number, changed)
            kept = memory.change(key, step)
            return self._released(question, kept[_HEAD.size :], round_number)
        kept = memory.change(key, partial(_next_round, law, code, round_number))
        # The byte before the id is the round that what is kept belongs to.
        report_id = kept[1 : 1 + _ID_BYTES]
        payload = kept[1 + _ID_BYTES :]
        if round_number == 1:  # what is kept is the throw of the die
            payload = law.output(payload, code, round_number)
        return self._released(question, report_id + payload, round_number)

    def questions_of(self, user: str) -> tuple[str, ...]:
        """The questions that this person is asked: all, or those that are drawn for them.

        Where each person answers some questions, these are drawn at the first call, from the
        operating system's generator, and remembered. Ask before anything is answered.

        Raises
        ------
        InputError, FileError
            There is no memory, or it cannot be used.
        """
        if self._drawing is None:
            return self.questions
        key = (self._hash, user, _DRAWING_KEY)
        # The word is kept in place of the names: a list of names would need another
        # check that they are names of this file.
        draw = partial(_first, partial(system, _WORD_BYTES))
        kept = self._memory_for(user).change(key, draw)
        _require_size(kept, _WORD_BYTES)
        return self._drawing.asked(int.from_bytes(kept, "little"))

    def _require_drawn(self, question: str, user: str | None) -> None:
        """Refuse a question that is not this person's: it would spend more than was promised."""
        if self._drawing is None:
            return
        if user is None:
            remedy = "Pass the person's identifier as user."
            allowed = "given: which questions they are asked is drawn once"
            raise InputError("user", user, allowed, remedy)
        theirs = self.questions_of(user)
        if question not in theirs:
            allowed = f"one that this person is asked: {', '.join(theirs)}"
            remedy = "Ask for questions_of(user)."
            raise InputError("question", question, allowed, remedy)

    def own_round(self, question: str, user: str) -> int | None:
        """The only round in which this person reports; None where there is no one round."""
        again = self._laws[question].again
        if again is None or again.changes is not None:
            return None
        return again.own(self._hash, question, user)

    def _released(
        self, question: str, kept: bytes, round_number: int | None = None
    ) -> Report:
        """A report from its id and what it says, one after the other."""
        _require_size(kept, _ID_BYTES + self._laws[question].size)
        number = kept[:_ID_BYTES].hex()
        payload = kept[_ID_BYTES:]
        return Report(self._hash, question, payload, number, round_number)

    def _check_round(
        self, law: Law, user: str | None, round_number: int | None, changed: bool
    ) -> None:
        """InputError where what is said of rounds does not fit the question."""
        numbers = law.rounds
        remedy = "Say whether the answer changed."
        if type(changed) is not bool:
            raise InputError("changed", changed, "True or False", remedy)
        if changed and not law.blanks:
            allowed = "left out: one report stays for good"
            raise InputError("changed", changed, allowed, "Leave changed out.")
        if numbers == (None,):
            if round_number is not None:
                allowed = "left out: there is one round"
                remedy = "Leave round_number out."
                raise InputError("round_number", round_number, allowed, remedy)
        elif type(round_number) is not int or round_number not in numbers:
            allowed = f"from {numbers[0]} to {numbers[-1]} for this question"
            remedy = "Say which round the report is for."
            raise InputError("round_number", round_number, allowed, remedy)
        elif user is None:
            allowed = "given: a person's rounds belong together"
            remedy = "Pass the person's identifier as user."
            raise InputError("user", user, allowed, remedy)

    def _memory_for(self, user: str) -> Memory:
        """The memory, for somebody whom it can keep: it stores no lone surrogate."""
        # A lone surrogate has no form in UTF-8. If it were replaced, two people could
        # share a memory and so a report.
        if (
            not isinstance(user, str)
            or not user
            or user != user.encode(errors="ignore").decode()
        ):
            remedy = "Give an identifier that is the same for all answers of a person."
            raise InputError("user", user, "text that is not empty", remedy)
        if self._memory is None:
            allowed = "given, to remember a user's report"
            remedy = "Make the client with Client(parameters, memory=path)."
            raise InputError("memory", None, allowed, remedy)
        return self._memory


def _first(draw: Callable[[], bytes], kept: bytes | None) -> bytes:
    """What is kept, or what is drawn now if nothing is."""
    if kept is None:
        return draw()
    return kept


def _next_round(law: Law, code: Code, round_number: int, kept: bytes | None) -> bytes:
    """What is kept for a person: the round, its report's id, and the die or round two's report.

    The die is blind: it says nothing of the answer. Together with round two's report it would, as
    would both rounds' reports. So round two takes the place of all that there was before.
    """
    # The round's report was made before: giving it again spends nothing.
    if kept is not None and kept[0] == round_number:
        return kept
    # Round one's report has to stay forgotten, as both rounds together undo the
    # randomisation; a fresh throw for it would be a second report of the answer.
    if kept is not None and kept[0] > round_number:
        allowed = f"{kept[0]}: round one is over"
        remedy = "Its report was forgotten, as both together tell the answer."
        raise InputError("round_number", round_number, allowed, remedy)
    if kept is None:
        die = law.draw(code, system)
    else:
        die = kept[1 + _ID_BYTES :]
    _require_size(die, law.size)
    if round_number == 1:
        return bytes([1]) + _with_id(die)
    return bytes([round_number]) + _with_id(law.output(die, code, round_number))


def _require_size(kept: bytes, size: int) -> None:
    """VerificationError for what no step has kept: it could be a report of something else."""
    # The memory's checksum is right here, so that the wrong size means that another
    # program wrote it: nothing in it may leave the device.
    if len(kept) != size:
        reason = "The remembered report has the wrong size"
        raise VerificationError(reason, "Report nothing.")


def _with_id(payload: bytes) -> bytes:
    """The payload behind a new random id, which says nothing of who reports."""
    return system(_ID_BYTES) + payload


def _dumped(parameters: Document) -> str:
    """The document as JSON text, so that it is read as a file is."""
    try:
        return json.dumps(dict(parameters))
    except (TypeError, ValueError, RecursionError) as error:
        reason = f"is not a JSON document: {error}"
        remedy = "Pass what json.loads makes of a parameter file."
        raise FileError("parameters", reason, remedy) from error


_DRAWING_KEY = ""  # in place of a question's name: which questions a person is asked
_WORD_BYTES = 4  # of the word by which they are drawn
# Two numbers of 16 bits, the high byte first, before the report's id.
_HEAD = struct.Struct(">HH")  # the value that lasts, from 1; the last round
_SILENT_VALUE = 0xFFFF  # nothing is known of earlier values: none is reported


def _in_own_round(
    law: Law, code: Code, own_round: int, round_number: int, kept: bytes | None
) -> bytes:
    """What is kept of a person who reports in one round alone, ``own_round``.

    Raises
    ------
    InputError
        It is another one. Nothing has been drawn.
    """
    # The round follows from a hash of the person's identifier, so that it stays the
    # same for somebody whose memory was lost.
    if round_number != own_round:
        allowed = f"{own_round}, this person's round"
        remedy = (
            "Ask in that round alone; a report in another would spend the budget again."
        )
        raise InputError("round_number", round_number, allowed, remedy)
    if kept is not None:
        return kept
    return _HEAD.pack(own_round, own_round) + _drawn(law, code)


def _next_value(
    law: Law,
    code: Code,
    own_value: int,
    round_number: int,
    changed: bool,
    kept: bytes | None,
) -> bytes:
    """What is kept of a person after a round, from what was: it ends in an id and a report.

    ``own_value`` is the number of the value that they report. Its report stays while the value
    lasts; a new id, as each round's report is another one. Who has no memory in round 1 begins
    there; later, it was lost, and they are silent for good.

    Raises
    ------
    InputError
        The round is over. Nothing has been drawn.
    """
    lasting = None  # the report of the value that lasts
    if kept is None:
        # Without a memory nobody knows whether the own value was reported already.
        # Silence costs one report, a guess could cost the budget again.
        value = _SILENT_VALUE
        if round_number == 1:
            value = 1
    else:
        value, last = _HEAD.unpack_from(kept)
        # The same round asked again, after a crash of the app say, gives the same
        # report with the same id, which the collector counts once.
        if round_number == last:
            return kept
        if round_number < last:
            remedy = "Ask for this round or a later one; nothing was drawn."
            raise InputError("round_number", round_number, f"at least {last}", remedy)
        if changed:
            value = min(value + 1, _SILENT_VALUE)
        else:
            lasting = kept[_HEAD.size + _ID_BYTES :]
    if lasting is not None:
        # The payload lasts, as a fresh draw of the same value would spend more; only
        # its id is new, as the collector drops a report whose id it knows.
        drawn = _with_id(lasting)
    elif value == own_value:
        drawn = _drawn(law, code)
    else:  # a blank, which is as long as a report
        # Without a blank, who is silent in a round would tell when that person's value
        # began and ended.
        drawn = _with_id(bytes(law.size))
    return _HEAD.pack(value, round_number) + drawn


def _drawn(law: Law, code: Code) -> bytes:
    """A report with a new id; where there are blanks, a byte before it says that it is none."""
    return _with_id(bytes([1])[: law.blanks] + law.draw(code, system))
