"""A draft as one short word for an address, and back, whatever was typed.

Nothing in such a word is believed: it may come from anybody, and may be cut short.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from planner.errors import InputError
from planner.survey import DESIGNS
from planner.survey.ordered_answers import WANTED
from planner.ui.draft.categorical import CategoricalDraft, PairChoice
from planner.ui.draft.numeric import MODELS, NumericDraft
from planner.ui.draft.parts import QuestionDraft
from planner.ui.draft.sampled import SampledDraft
from planner.ui.draft.survey import SurveyDraft

_KINDS: dict[str, TypeAdapter[Any]] = {
    "choice": TypeAdapter(CategoricalDraft),
    "number": TypeAdapter(NumericDraft),
    "rare answer": TypeAdapter(SampledDraft),
}
_NAMES: dict[type[QuestionDraft], str] = {
    CategoricalDraft: "choice",
    NumericDraft: "number",
    SampledDraft: "rare answer",
}
# A path could make the server read a file; a sample is what people answered.
_LEFT_OUT: dict[str, Any] = {"pairs": True, "sets": {"pilot"}, "sample": True}
_MOST_BYTES = 1_000_000
_WRONG = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
_CHOICES = {
    "rule": ("min", "avg", "pairs"),
    "objective": ("worst-case", "expected", "minimax"),
    "relies_on": ("aggregates-only", "round-two"),
    "model": tuple(MODELS),
    "wanted": WANTED,
}
_WHOLE = {"design": DESIGNS, "objective": ("sum", "minimax")}


def word_of_draft(draft: SurveyDraft) -> str:
    """Everything typed, in letters, digits, ``-`` and ``_``; without uploaded samples.

    Examples
    --------
    >>> draft = SurveyDraft("wards", "1,000", [NumericDraft("age", upper="x")])
    >>> draft_of_word(word_of_draft(draft)) == draft
    True
    """
    document = {
        "name": draft.name,
        "users": draft.users,
        "design": draft.design,
        "objective": draft.objective,
        "asked": draft.asked,
        "questions": [_document(question) for question in draft.questions],
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    packed = zlib.compress(text.encode("utf-8", "surrogatepass"), 9)
    return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def draft_of_word(word: str) -> SurveyDraft:
    """The draft again.

    Raises
    ------
    InputError
        The word is none of :func:`word_of_draft`'s, or unpacks to more than a megabyte.

    Examples
    --------
    >>> draft_of_word("cut")
    Traceback (most recent call last):
    ...
    planner.errors.InputError: the survey in the address cannot be read. Copy the whole ...
    """
    try:
        return _draft(_unpacked(word))
    except (*_WRONG, zlib.error) as error:
        remedy = "Copy the whole address, or open the survey's file."
        reason = "the survey in the address cannot be read"
        raise InputError.because("address", reason, remedy) from error


def _unpacked(word: str) -> Any:
    packed = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(packed, _MOST_BYTES)
    if not unpacking.eof:
        raise ValueError("too long, or cut short")
    return json.loads(text.decode("utf-8", "surrogatepass"))


def _document(draft: QuestionDraft) -> dict[str, Any]:
    kind = _NAMES[type(draft)]
    document: dict[str, Any] = _KINDS[kind].dump_python(draft, mode="json", exclude=_LEFT_OUT)
    if isinstance(draft, CategoricalDraft):
        document["pairs"] = [[sorted(pair), *choice] for pair, choice in draft.pairs.items()]
    return {"kind": kind, **document}


def _draft(document: Any) -> SurveyDraft:
    questions = [_question(one) for one in document["questions"]]
    texts = [document[key] for key in ("name", "users", "design", "objective")]
    texts.append(document.get("asked", ""))  # older links have none
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("no text")
    name, users, *aims = texts
    draft = SurveyDraft(name, users, questions, *aims)
    _check(draft, _WHOLE)
    return draft


def _question(document: dict[str, Any]) -> QuestionDraft:
    pairs = {
        frozenset(map(str, names)): PairChoice(bool(protected), str(budget))
        for names, protected, budget in document.pop("pairs", ())
    }
    if not all(1 <= len(pair) <= 2 for pair in pairs):
        raise ValueError("no pair of levels")
    document.get("sets", {}).pop("pilot", None)
    document.pop("sample", None)
    adapter = _KINDS[document.pop("kind")]
    draft: QuestionDraft = adapter.validate_python(document)
    if isinstance(draft, CategoricalDraft):
        draft.pairs = pairs
    _check(draft, _CHOICES)
    return draft


def _check(draft: object, choices: Mapping[str, tuple[str, ...]]) -> None:
    for attribute, allowed in choices.items():
        if getattr(draft, attribute, allowed[0]) not in allowed:
            raise ValueError(attribute)
