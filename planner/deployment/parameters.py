"""The parameter file: what a plan, or chosen mechanisms, hand to the clients and the collector.

It holds integer probabilities over 2^32, the budgets that they keep, and a content hash. Reading is
strict: a file that is not exactly right, or whose probabilities do not keep their budgets, is
refused with the reason.

Conformance vectors are made of one: fixed entropy in, expected report out, for clients in other
languages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from planner import __version__
from planner.deployment.client.document import (
    FILE_VERSION,
    FORMAT,
    content_hash,
    file_form,
    parse_document,
    read_document,
    read_questions,
)
from planner.errors import FileError, InputError, VerificationError
from planner.estimates.cross_table import RelatedQuestion
from planner.files import replace_file
from planner.laws.anchor import Anchor
from planner.laws.drawing import Drawing
from planner.laws.law import Law
from planner.laws.schema import Document
from planner.limits import EXPORT_REMEDY, JOINED, MAX_EPSILON
from planner.mechanisms.asking import COLLECTOR, CollectedLaw
from planner.mechanisms.collected import DieCollected

if TYPE_CHECKING:
    from planner.planning.plan import SurveyPlan
    from planner.survey.questions import Question
    from planner.survey.survey import Survey
    from planner.survey.values import GroupValues

# The least and the largest word, the one after the least, and one with the highest bit
# alone: where a client without unsigned 32-bit numbers goes wrong.
_DRAWN_WORDS = (0, 1, 2**31, 2**32 - 1)
# A name beyond ASCII, with a newline, and one that looks like a number: what clients in
# other languages encode in other ways.
_USERS = ("ada", "é\n", "0")
_VECTOR_FORMAT = "ldp-planner-vectors"
# The entropy of a vector begins so: words that draws reject, and words that they surely take.
_PREFIXES = (b"", b"\xff" * 4, b"\xff" * 12, b"\x00" * 8)
_HASH_BYTES = 32


@dataclass(frozen=True, slots=True)
class Parameters:
    """A whole parameter file, checked and proven when it is made.

    Attributes
    ----------
    document:
        The file's JSON, not to be changed. :func:`json_schema` is its shape.
    hash:
        SHA-256 of its canonical form (RFC 8785) without the key ``hash``; reports carry it.
    questions:
        The law of each question.

    Examples
    --------
    >>> from planner import plan_survey
    >>> parameters = survey_parameters(plan_survey("examples/clinic.toml"))
    >>> parameters.survey, parameters.users, [law.name for law in parameters.questions]
    ('clinic', 50000, ['treatment'])
    """

    document: Document
    hash: str
    questions: tuple[CollectedLaw, ...]

    @classmethod
    def of(cls, document: Document, source: str | Path = "parameters") -> Parameters:
        """Verified parameters of a parsed document whose outside was checked.

        Raises
        ------
        FileError
            It is not exactly of the form; ``source`` is named.
        VerificationError
            The probabilities do not keep the promised budgets, or an estimator is biased.
        """
        questions = tuple(read_questions(document, source, CollectedLaw, COLLECTOR))
        _prove(questions)
        parameters = cls(document, content_hash(document), questions)
        parameters._require_cells(source)
        return parameters

    def _require_cells(self, source: str | Path) -> None:
        """FileError unless a joint question's answers are the pairs of its parts' ones."""
        items = {law.name: law.levels.item_names() for law in self.questions}
        for name, parts in self.joint.items():
            answers_of_parts = [part.answers for part in parts]
            cells = map(JOINED.join, product(*answers_of_parts))
            # As sorted lists, so that an answer that stands twice is seen as well; a
            # set would hide it.
            if sorted(items.get(name, [])) != sorted(cells):
                reason = f"joint: the answers of {name!r} are not the pairs of its questions' ones"
                raise FileError(source, reason, EXPORT_REMEDY)
            for part in parts:
                # At most the last answer, of who gives none, is outside the order.
                outside = len(part.answers) - part.in_order
                if part.in_order and outside not in (0, 1):
                    reason = (
                        f"joint: in_order of {part.name!r} leaves out {outside} answers"
                    )
                    raise FileError(source, reason, EXPORT_REMEDY)

    @property
    def survey(self) -> str:
        """Name of the survey."""
        return str(self.document["survey"])

    @property
    def users(self) -> int:
        """Planned number of people."""
        return int(self.document["users"])

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The values of each known group that reports carry; nobody randomises them."""
        listed = self.document.get("groups", ())
        return {group["name"]: tuple(group["values"]) for group in listed}

    @property
    def numbers(self) -> frozenset[str]:
        """The names of the groups whose values are whole numbers."""
        names = set()
        for group in self.document.get("groups", ()):
            if group.get("kind") == "number":
                names.add(group["name"])
        return frozenset(names)

    @property
    def drawing(self) -> Drawing | None:
        """Which questions each person is asked; None where everybody answers all."""
        return Drawing.read(self.document)

    @property
    def joint(self) -> dict[str, list[RelatedQuestion]]:
        """The parts of each joint question, with their answers, whose pairs are its own."""
        joint: dict[str, list[RelatedQuestion]] = {}
        for document in self.document.get("joint", ()):
            parts = []
            for stated in document["of"]:
                part = RelatedQuestion(
                    name=stated["name"],
                    answers=stated["answers"],
                    in_order=stated.get("in_order", 0),
                )
                parts.append(part)
            joint[document["question"]] = parts
        return joint

    def to_json(self) -> str:
        """The file's text."""
        return json.dumps(self.document, indent=2, ensure_ascii=False) + "\n"

    def verify(self) -> None:
        """Prove every question again, what a device cannot prove included.

        Raises
        ------
        VerificationError
            Names the question and what does not hold.
        """
        _prove(read_questions(self.document, "parameters", CollectedLaw, COLLECTOR))

    def question(self, name: str | None = None) -> CollectedLaw:
        """The question of that name; without a name, the only one.

        Raises
        ------
        InputError
            No such question, or no name given and several questions.
        """
        names = [question.name for question in self.questions]
        if name is None and len(names) == 1:
            return self.questions[0]
        if name not in names:
            remedy = "Name one of its questions."
            raise InputError.unknown("question", name, names, remedy)
        return self.questions[names.index(name)]


def read_parameters(path: str | Path) -> Parameters:
    """Read and verify a parameter file of at most 64 MiB.

    Raises
    ------
    FileError
        Unreadable, too large, not JSON, altered, or not exactly of the expected form.
    VerificationError
        The probabilities do not keep the promised budgets.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from planner import plan_survey
    >>> parameters = survey_parameters(plan_survey("examples/clinic.toml"))
    >>> with TemporaryDirectory() as folder:
    ...     write_parameters(f"{folder}/p.json", parameters)
    ...     read_parameters(f"{folder}/p.json").survey
    'clinic'
    """
    return Parameters.of(read_document(path), path)


def parse_parameters(data: bytes | str) -> Parameters:
    """Read and verify parameters as :func:`read_parameters` does, from the file's content."""
    return Parameters.of(parse_document(data))


def write_parameters(path: str | Path, parameters: Parameters) -> None:
    """Verify and write a parameter file, replacing an existing one atomically.

    Raises
    ------
    FileError
        The path cannot be written; nothing is half written.
    VerificationError
        The probabilities do not keep the promised budgets.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from planner import plan_survey
    >>> parameters = survey_parameters(plan_survey("examples/clinic.toml"))
    >>> with TemporaryDirectory() as folder:
    ...     write_parameters(f"{folder}/p.json", parameters)
    """
    # The document is a dictionary and may have been changed since it was proven; a
    # wrong hash would be found by each client, after the file was sent out.
    if content_hash(parameters.document) != parameters.document["hash"]:
        remedy = "Build the file anew."
        raise InputError("hash", parameters.hash, "the content's hash", remedy)
    parameters.verify()
    replace_file(path, parameters.to_json())


def parameters_from_mechanisms(
    survey: Survey,
    mechanisms: Document,
    users: int | None = None,
    questions: Sequence[Question] = (),
    drawing: Drawing | None = None,
) -> Parameters:
    """Parameters with a chosen mechanism for each question, verified exactly; no time in them.

    Parameters
    ----------
    survey:
        The questions with their levels, items and rule.
    mechanisms:
        For each question's name a law, or a table, design or channel of a solver. Levels and
        items are the question's, in its order. An anchor has none: it is asked by that of its
        question.
    users, questions:
        Who are asked, and what, where that is not the whole survey.
    drawing:
        Which of the questions each person is asked, if not all.

    Raises
    ------
    InputError
        A question without a mechanism, or a mechanism that does not fit its question.
    VerificationError
        The integers do not keep the question's budgets.

    Examples
    --------
    >>> from planner import Level, Categorical, Survey
    >>> survey = Survey("s", 10, (Categorical("q", (Level("only", 1.0, item_count=3),)),))
    >>> from planner import randomized_response
    >>> mechanisms = {"q": randomized_response(1.0, items=3)}
    >>> parameters = parameters_from_mechanisms(survey, mechanisms)
    >>> parameters.questions[0].mechanism, parameters.questions[0].pairs[0].realised <= 1
    ('grr', True)
    """
    from planner.mechanisms.making import law_of

    questions = questions or survey.questions
    anchors = {}
    for question in survey.questions:
        if question.anchor_of is not None:
            anchors[question.anchor_of] = _anchor(question)
    questions = [question for question in questions if question.anchor_of is None]
    names = [question.name for question in questions]
    # Names that are too many are refused like those that lack: a mechanism without a
    # question is most likely a misspelt one.
    if sorted(names) != sorted(mechanisms):
        allowed = f"one for each of {sorted(names)}"
        remedy = "Give a mechanism for each question of the survey, by its name."
        raise InputError("mechanisms", sorted(mechanisms), allowed, remedy)
    document: Document = {
        "format": FORMAT,
        "version": FILE_VERSION,
        "planner_version": __version__,
        "survey": survey.name,
        "users": users or survey.users,
    }
    laws = []
    joint = []
    for question in questions:
        law = law_of(question, mechanisms[question.name])
        law = replace(law, anchor=anchors.get(question.name))
        laws.append(law.document())
        if len(question.together) > 1:
            joint.append(_joint(question))
    document["questions"] = laws
    # What a survey does not have is left out of its file.
    if survey.groups:
        groups = [_group(survey, name, values) for name, values in survey.groups]
        document["groups"] = groups
    if joint:
        document["joint"] = joint
    if drawing is not None:
        document["drawn"] = drawing.document()
    if survey.limits != "people asked":
        document["limits"] = survey.limits
    return Parameters.of(document | {"hash": content_hash(document)})


def _joint(question: Question) -> Document:
    """A joint question with the parts whose answers its own ones join."""
    parts = [_answers(part) for part in question.together]
    return {"question": question.name, "of": parts}


def _answers(part: Question) -> Document:
    """A part of a joint question, and how many of its answers have an order, if any have."""
    answers: Document = {"name": part.name, "answers": part.answers}
    if part.in_order:
        answers["in_order"] = part.in_order
    return answers


def _anchor(question: Question) -> Anchor:
    """An anchor, as the question has it that it is the anchor of."""
    return Anchor(name=question.name, known=getattr(question, "known", ""))


def _group(survey: Survey, name: str, values: GroupValues) -> Document:
    """One known variable, with what its values count for if these are its own."""
    from planner.survey.values import NumberGroup

    if isinstance(values, NumberGroup):
        return {
            "name": name,
            "kind": "number",
            "values": list(values.values),
            "weights": [],
            "population": [],
        }
    return {
        "name": name,
        "values": list(values),
        "weights": _parts_of(survey.weights, values),
        "population": _parts_of(survey.population, values),
    }


def _parts_of(
    stated: Iterable[tuple[str, float]], values: tuple[str, ...]
) -> list[float]:
    """What each value counts for, in their order; empty if it is stated of another variable."""
    parts = dict(stated)
    # Parts of another variable's values are no error here: a survey states its weights
    # once, of one variable.
    if set(parts) != set(values):
        return []
    return [parts[value] for value in values]


def survey_parameters(plan: SurveyPlan, question: str | None = None) -> Parameters:
    """Verified parameters of a planned survey: what every question really spends, and no more.

    Parameters
    ----------
    plan:
        The survey's plan; it says which mechanism every question has.
    question:
        This question alone; all of them when omitted.

    Raises
    ------
    InputError
        No such question; or a question cannot be deployed, a weaker guarantee is not
        acknowledged for example.
    VerificationError
        Probabilities do not keep their budgets.

    Examples
    --------
    >>> from planner import Level, Categorical, Survey, plan_survey
    >>> survey = Survey("s", 10, (Categorical("q", (Level("only", 1.0, item_count=3),)),))
    >>> survey_parameters(plan_survey(survey)).questions[0].mechanism
    'subset-design'
    """
    if question is not None:
        planned = plan.question(question)
        anchored = planned.question.anchor_of
        if anchored is not None:
            remedy = f"Export {anchored!r}: a report has both."
            allowed = "a question that is no anchor"
            raise InputError("question", question, allowed, remedy)
        return parameters_from_mechanisms(
            survey=plan.survey,
            mechanisms={planned.name: planned.law},
            users=planned.part.people,
            questions=[planned.deployed],
        )
    names = []
    fractions = []
    questions = []
    mechanisms = {}
    for planned in plan.questions:
        # An anchor is a part of its question, with the same mechanism.
        if planned.question.anchor_of is not None:
            continue
        names.append(planned.name)
        fractions.append(planned.part.fraction)
        questions.append(planned.deployed)
        mechanisms[planned.name] = planned.law
    drawing = None
    if min(fractions) < 1:
        drawing = Drawing.of(names, fractions)
    return parameters_from_mechanisms(
        survey=plan.survey,
        mechanisms=mechanisms,
        questions=questions,
        drawing=drawing,
    )


def check_writable(
    survey: Survey, question: str | None = None, path: Path | None = None
) -> None:
    """Refuse, before a survey is planned, what could not be written afterwards.

    Raises
    ------
    InputError
        There is no such question, or nobody vouches for what a question relies on.
    FileError
        The folder of ``path`` does not exist.
    """
    from planner.survey.choices import SampledChoice

    # An anchor is written with the question that it is the anchor of.
    names = [asked.name for asked in survey.questions if asked.anchor_of is None]
    if question is not None and question not in names:
        remedy = "Ask for one of the survey's."
        raise InputError.unknown("question", question, names, remedy)
    for asked in survey.questions:
        if isinstance(asked, SampledChoice) and question in (None, asked.name):
            asked.sampling.require_acknowledged()
    if path is not None and not path.absolute().parent.is_dir():
        reason = "cannot be written: its folder does not exist"
        raise FileError(path, reason, "Make the folder, or name another file.")


def json_schema() -> str:
    """The file's JSON Schema (draft 2020-12), as text."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Parameters",
        "description": "A parameter file. What no schema can say is checked by every client.",
    }
    return json.dumps(head | file_form(), indent=2) + "\n"


def _prove(laws: Iterable[CollectedLaw]) -> None:
    """What a device cannot prove: what is said of estimates, by sums over binomial laws."""
    for law in laws:
        die = law.shape
        if not isinstance(die, DieCollected) or die.released == inf:
            continue
        from planner.mechanisms.sampling_privacy import DELTA_ROUNDING, released_delta

        stated = die.guarantee["aggregates"]
        epsilon = die.released
        mechanism = die.mechanism
        claim = f"Question {law.name!r}: The estimates have"
        if epsilon > MAX_EPSILON:
            reason = f"{claim} epsilon {epsilon:.6g}, of which nothing can be proven"
            raise VerificationError(reason)
        realised = released_delta(
            stated["others_with_each_value"],
            mechanism.sampling,
            epsilon,
            everyone_has_value=mechanism.everyone_has_value,
        )
        # The sums round by less than what was added to the delta that is stated.
        if realised > stated["delta"] * (1 + DELTA_ROUNDING):
            reason = f"{claim} delta {realised:.3g} at epsilon {epsilon:.6g}"
            raise VerificationError(f"{reason} but {stated['delta']:.3g} is promised")


def make_vectors(parameters: Parameters) -> Document:
    """Vectors for every question: first, middle, last and missing answers, odd entropy among it.

    Returns
    -------
    dict
        ``format``, ``version``, ``parameters`` (the hash) and ``vectors``: each with
        ``question``, ``answer``, ``entropy`` (hexadecimal, exactly what is consumed),
        ``report`` (hexadecimal) and, for Sampling Privacy, ``round``; the entropy is then
        the die's. Where a question is asked again, also ``question``, ``user`` and ``own``: which
        round or value that person reports. Where each person answers some questions, ``word``, one
        of 32 bits, and which questions are ``asked`` by it.
    """
    vectors: list[Document] = []
    for law in parameters.questions:
        for i, answer in enumerate(law.examples()):
            for prefix in _PREFIXES:
                seed = f"{law.name} {i} {prefix.hex()}"
                for number in law.shape.rounds:
                    vectors.append(_vector(law, answer, prefix, seed, number))
    for law in parameters.questions:
        if law.again is not None:
            for user in _USERS:
                own = law.again.own(parameters.hash, law.name, user)
                vectors.append({"question": law.name, "user": user, "own": own})
    drawing = parameters.drawing
    if drawing is not None:
        for word in _DRAWN_WORDS:
            vectors.append({"word": word, "asked": list(drawing.asked(word))})
    return {
        "format": _VECTOR_FORMAT,
        "version": 1,
        "parameters": parameters.hash,
        "vectors": vectors,
    }


def _vector(
    law: Law, answer: object, prefix: bytes, seed: str, number: int | None
) -> Document:
    """The report of an answer from entropy that begins so and goes on by hashes of the seed."""
    entropy = bytearray(prefix)
    taken = 0

    def source(size: int) -> bytes:
        nonlocal taken
        while len(entropy) < taken + size:
            block = (len(entropy) - len(prefix)) // _HASH_BYTES
            entropy.extend(sha256(f"{seed} {block}".encode()).digest())
        start = taken
        taken += size
        return bytes(entropy[start:taken])

    code = law.code(answer)
    report = law.output(law.draw(code, source), code, number)
    vector = {"question": law.name, "answer": answer, "entropy": entropy[:taken].hex()}
    if number is not None:
        vector["round"] = number
    return vector | {"report": report.hex()}
