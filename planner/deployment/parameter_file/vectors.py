"""Conformance vectors: fixed entropy in, expected report out, for clients in other languages."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from planner.deployment.client.client import encoders_of
from planner.deployment.client.drawing.encoders import Encoder, SamplingEncoder
from planner.deployment.client.laws.output import Law, SamplingLaw, SignLaw, UnaryLaw
from planner.deployment.parameter_file.parameters import Parameters
from planner.errors import InputError

__all__ = ["VECTOR_FORMAT", "make_vectors", "replay"]

VECTOR_FORMAT = "ldp-planner-vectors"
_PREFIXES = (b"", b"\xff" * 4, b"\xff" * 12, b"\x00" * 8)  # rejected words, and surely accepted


class _Recorded:
    """A source that plays a stream and remembers what was taken of it."""

    def __init__(self, prefix: bytes, seed: str) -> None:
        self._left = prefix
        self._seed = seed
        self._block = 0
        self.taken = b""

    def __call__(self, count: int) -> bytes:
        parts = [self._left]
        size = len(self._left)
        while size < count:
            parts.append(sha256(f"{self._seed} {self._block}".encode()).digest())
            self._block += 1
            size += len(parts[-1])
        data = b"".join(parts)
        self._left = data[count:]
        self.taken += data[:count]
        return data[:count]


def make_vectors(parameters: Parameters) -> dict[str, Any]:
    """Vectors for every question: first, middle, last and missing answers, odd entropy among it.

    Returns
    -------
    dict
        ``format``, ``version``, ``parameters`` (the hash) and ``vectors``: each with
        ``question``, ``answer``, ``entropy`` (hexadecimal, exactly what is consumed),
        ``report`` (hexadecimal) and, for Sampling Privacy, ``round``; the entropy is then
        the die's.
    """
    document = parameters.model_dump(mode="json")
    encoders = encoders_of(document, "parameters")
    vectors = []
    for question in parameters.questions:
        encoder = encoders[question.name]
        for i, answer in enumerate(_answers(question.law)):
            for prefix in _PREFIXES:
                seed = f"{question.name} {i} {prefix.hex()}"
                vectors += [
                    _vector(question.name, encoder, answer, prefix, seed, number)
                    for number in encoder.rounds
                ]
    return {
        "format": VECTOR_FORMAT,
        "version": 1,
        "parameters": parameters.hash,
        "vectors": vectors,
    }


def replay(encoder: Encoder, vector: dict[str, Any]) -> bytes:
    """The report that an encoder makes of a vector's answer and entropy.

    Raises
    ------
    InputError
        The encoder takes more or less entropy than the vector has.
    """
    left = bytes.fromhex(vector["entropy"])

    def source(count: int) -> bytes:
        nonlocal left
        data, left = left[:count], left[count:]
        return data

    code = encoder.code(vector["answer"])
    report = encoder.draw(code, source)
    if left:
        raise InputError("entropy", f"{len(left)} bytes left over", "consumed exactly")
    if isinstance(encoder, SamplingEncoder):
        return encoder.output(report, code, vector["round"])
    return report


def _vector(
    name: str, encoder: Encoder, answer: Any, prefix: bytes, seed: str, number: int | None
) -> dict[str, Any]:
    source = _Recorded(prefix, seed)
    code = encoder.code(answer)
    report = encoder.draw(code, source)
    vector = {"question": name, "answer": answer, "entropy": source.taken.hex()}
    if isinstance(encoder, SamplingEncoder) and number is not None:
        report = encoder.output(report, code, number)
        vector["round"] = number
    return vector | {"report": report.hex()}


def _answers(law: Law) -> Iterator[Any]:
    if isinstance(law, SignLaw):
        yield from (law.lower, law.upper, None)
        if not law.yes_no:
            yield from (law.lower + (law.upper - law.lower) * share for share in (0.5, 0.7))
        return
    levels = law.levels
    total, numbers = levels.total, levels.item_names()
    places = sorted({0, total // 2, total - 1})
    items = [numbers[k] if numbers[k] in levels.numbers() else k for k in places]
    if isinstance(law, UnaryLaw) and law.padding_length:
        yield from ([], items[:1], items)
        return
    yield from items
    if isinstance(law, SamplingLaw) and not law.everyone_has_value:
        yield None
