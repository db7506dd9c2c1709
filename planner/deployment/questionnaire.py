"""The page that people answer, as one file: parameters, client, words and style.

It fetches nothing, and its Content-Security-Policy lets it run no other script and connect to no
other address than the one that reports are sent to.
"""

from __future__ import annotations

import json
import re
import tomllib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib import resources
from itertools import product
from pathlib import Path

from planner.deployment.parameters import parse_parameters
from planner.errors import FileError, InputError
from planner.files import read_text
from planner.laws.law import Law
from planner.laws.schema import Document
from planner.limits import JOINED
from planner.survey.numeric import DISTRIBUTION
from planner.survey.questions import Question
from planner.survey.survey import Survey

MOST_CHOICES = 5000  # answers of a question on the page, which lists them all
_LANGUAGES = ("en", "de")
_ADDRESS = re.compile(
    r"(https?)://([A-Za-z0-9.-]+|\[::1\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?"
)
_HERE = ("localhost", "127.0.0.1", "[::1]")
_TAG = re.compile("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_IMPORT = re.compile(
    r'^import (.+) from "\./([\w.-]+)"(?: with \{ type: "json" \})?;\n', re.M
)
_PASSED_ON = re.compile(r'^export \{ (\w+) \} from "\./([\w.-]+)";\n', re.M)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let) (\w+))", re.M)


def questionnaire(
    survey: Survey,
    parameters: bytes,
    send_to: str = "",
    round_number: int | None = None,
    *,
    preview: bool = False,
) -> str:
    """The page, as HTML.

    Parameters
    ----------
    survey:
        Says how questions and answers are worded.
    parameters:
        A parameter file's content, which the page has byte for byte.
    send_to:
        Address that reports are sent to: https, http on this machine, or a path such as
        ``/reports`` on the host that the page itself is from. Without one they are saved as a file.
    round_number:
        The round that the page is for, where questions have rounds; the first if left out.
    preview:
        Keep and send nothing, and say so.

    Raises
    ------
    InputError
        The survey is not that of the parameters, has more than 5,000 answers to list, or there is
        no such round; the address is none that an answer may go to.
    FileError, VerificationError
        Those of :func:`~planner.deployment.parameters.parse_parameters`, and of a file of words.

    Examples
    --------
    >>> from planner import Categorical, Level, plan_survey
    >>> from planner.deployment.parameters import survey_parameters
    >>> survey = Survey("s", 10, (Categorical("a <b>", (Level("all", 1.0, ("x", "y")),)),))
    >>> file = survey_parameters(plan_survey(survey)).to_json().encode()
    >>> page = questionnaire(survey, file, "https://example.org/reports")
    >>> "connect-src https://example.org/reports;" in page, "<b>" in page, len(page) < 150_000
    (True, False, True)
    """
    laws = parse_parameters(parameters).questions
    worded = {}
    for law in laws:
        worded[law.name] = _worded(survey, law.name, law)
        if law.anchor is not None:
            worded[law.anchor.name] = _worded(survey, law.anchor.name, law)
    style = _asset("page.css")
    script = _script()
    words = _words(survey.language)
    content = {
        "words": words,
        "send": send_to,
        "round": _round(laws, round_number),
        "preview": preview,
        "thanks": survey.thanks,
        "shuffled": any(law.anchor is not None for law in laws),
        "questions": worded,
    }
    # The page may speak with one address, and not at all where nothing is to be sent.
    connected = "'none'"
    if send_to and not preview:
        connected = _source(send_to)
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        f"img-src data:; connect-src {connected}; base-uri 'none'; form-action 'none'"
    )
    paragraphs = []
    for text in re.split(r"\n\s*\n", survey.intro or ""):
        if text:
            paragraphs.append(f'<p dir="auto">{escape(text)}</p>')
    preview_line = ""
    if preview:
        preview_line = f'<p class="preview">{escape(words["preview"])}</p>\n'
    return _asset("page.html").format(
        lang=escape(words["lang"]),
        policy=policy,
        title=escape(survey.title or survey.name),
        style=style,
        preview=preview_line,
        intro="\n".join(paragraphs),
        noscript=escape(words["noscript"]),
        hash_is=escape(words["hash"]),
        # No text of the survey ends the element of the page that holds it.
        told=json.dumps(content, ensure_ascii=False).replace("<", "\\u003c"),
        parameters=b64encode(parameters).decode(),
        script=script,
    )


def _worded(survey: Survey, name: str, law: Law) -> Document:
    """How the question or anchor of that name, which is asked by a law, is worded."""
    questions = {question.name: question for question in survey.questions}
    question = questions.get(name)
    if question is None:
        what = "question of the parameters"
        remedy = "Name the survey that these parameters were planned from."
        raise InputError.unknown(what, name, tuple(questions), remedy)
    worded: Document = {"ask": question.ask or question.name}
    items = _items(law)
    if not _is_of(question, law):
        remedy = "Export the parameters again, or name the survey that they are of."
        reason = f"the answers of {name!r} are not those of the survey"
        raise InputError.because("parameters", reason, remedy)
    if question.levels:
        count = question.plain_levels.total
        if count > MOST_CHOICES:
            allowed = f"at most {MOST_CHOICES:,} on a page"
            remedy = "Ask with a client of your own."
            raise InputError("answers", count, allowed, remedy)
        worded["labels"] = _labels(question, question.plain_levels.item_names())
        if len(question.together) > 1:  # its cells are called by the parts' labels
            worded |= _worded_parts(question, items)
    return worded


def _items(law: Law) -> list[str]:
    """The items that a law names, level by level; none of a number."""
    items: list[str] = []
    for level in law.document().get("levels", ()):
        items += level["items"]
    return items


def _is_of(question: Question, law: Law) -> bool:
    """Whether a law has the answers of a question, and its range if it is of numbers."""
    written = law.document()
    stated = question.model_dump()
    for end in ("lower", "upper"):
        if written.get(end) != stated.get(end):
            return False
    if getattr(question, "of", "") == DISTRIBUTION:
        return law.kind == "ordinal"  # planning has chosen the cells
    items: list[str] = []
    for level in question.levels:
        items += level.items
    return _items(law) == items


def _worded_parts(question: Question, items: Sequence[str]) -> Document:
    """How the parts of a joint question are asked, and what its cells, ``items``, are called."""
    parts = []
    answers_of_parts = []
    labels_of_parts = []
    for part in question.together:
        labels = _labels(part, part.answers)
        answers_of_parts.append(part.answers)
        labels_of_parts.append(labels)
        asked = part.ask or part.name
        parts.append({"ask": asked, "items": part.answers, "labels": labels})
    names = map(JOINED.join, product(*answers_of_parts))
    labels_of_cells = map(JOINED.join, product(*labels_of_parts))
    label_of = dict(zip(names, labels_of_cells, strict=True))
    labels = [label_of[item] for item in items]
    return {"labels": labels, "joint": JOINED, "of": parts}


def _labels(question: Question, answers: Sequence[str]) -> list[str]:
    """The answers as people read them."""
    labels = dict(getattr(question, "label", ()))
    return [labels.get(name, name) for name in answers]


def _round(laws: tuple[Law, ...], given: int | None) -> int | None:
    """The round that a page is of: the first unless it is given; None of no rounds."""
    last = 0
    for law in laws:
        last = max(last, law.rounds[-1] or 0)
    allowed = f"from 1 to {last}"
    remedy = "Make the page anew for each round."
    if not last:
        allowed = "left out: these questions have no rounds"
        remedy = "Leave it out."
    if given is not None and not 1 <= given <= last:
        raise InputError("round", given, allowed, remedy)
    if not last:
        return None
    return given or 1


def _source(address: str) -> str:
    """The address in a Content-Security-Policy, if reports may go there."""
    if re.fullmatch(r"/[A-Za-z0-9._~/-]*", address) and not address.startswith("//"):
        return "'self'"
    match = _ADDRESS.fullmatch(address)
    if match and (match[1] == "https" or match[2] in _HERE):
        return address
    allowed = "an https address, an http one of this machine, or a path of the page's own host"
    remedy = "Reports are private as they are; others must not see who sends one, or alter it."
    raise InputError("send-to", address, allowed, remedy)


def _digest(text: str) -> str:
    """The hash of a script or style, as a Content-Security-Policy names it."""
    checksum = sha256(text.encode()).digest()
    return f"'sha256-{b64encode(checksum).decode()}'"


@cache
def _asset(name: str) -> str:
    return (resources.files("planner.deployment") / "page" / name).read_text("utf-8")


def _words(language: str) -> Mapping[str, str]:
    """The page's own words."""
    usual: dict[str, str] = tomllib.loads(_asset("en.toml"))
    if language in _LANGUAGES:
        return tomllib.loads(_asset(f"{language}.toml"))
    try:
        words = tomllib.loads(read_text(Path(language), 1))
    except tomllib.TOMLDecodeError as error:
        reason = f"is not valid TOML: {error}"
        raise FileError(language, reason, "Correct that line.") from error
    wrong = list[str]()
    if not _TAG.fullmatch(str(words.get("lang"))):
        wrong.append("lang, a tag such as fr or pt-BR")
    in_one_alone = usual.keys() ^ words.keys()
    wrong += sorted(in_one_alone - {"lang"})
    for key in sorted(usual.keys() & words.keys()):
        # A gap that is left out would not be filled, and another one stay as it is.
        if _gaps(usual[key]) != _gaps(words[key]):
            wrong.append(key)
    if wrong:
        remedy = "Have the keys of planner/deployment/page/en.toml, with the same {names} in each."
        raise FileError(language, f"differs in {', '.join(wrong[:5])}", remedy)
    return words


def _gaps(text: object) -> set[str]:
    """The ``{names}`` in a text that are filled when it is shown."""
    if not isinstance(text, str):
        return {"no text"}
    return set(re.findall(r"\{\w+\}", text))


@cache
def _script() -> str:
    """The page's modules in one script, each a function that gives what it exports."""
    modules: dict[str, str] = {}  # after those that it imports
    _add("page.mjs", modules)
    return "\n".join(modules.values())


def _add(name: str, modules: dict[str, str]) -> str:
    """The variable of a module, which is made if it is not there yet."""
    variable = re.sub(r"\W", "_", name)
    if name in modules:
        return variable
    folder = resources.files("planner.deployment") / "client" / "js"
    text = (folder / name).read_text("utf-8")
    if name.endswith(".json"):
        modules[name] = f"const {variable} = {json.dumps(json.loads(text))};"
        return variable
    exported = _EXPORT.findall(text)
    for match, home in _PASSED_ON.findall(text):
        exported.append(f"{match}: {_add(home, modules)}.{match}")

    def imported(match: re.Match[str]) -> str:
        return f"const {match[1]} = {_add(match[2], modules)};\n"

    text = _IMPORT.sub(imported, text)
    text = _EXPORT.sub("", _PASSED_ON.sub("", text))
    given = ", ".join(exported)
    modules[name] = f"const {variable} = (() => {{\n{text}return {{ {given} }};\n}})();"
    return variable
