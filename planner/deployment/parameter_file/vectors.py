"""Conformance vectors: fixed entropy in, expected report out, for clients in other languages."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from planner.deployment.parameter_file.parameters import Parameters
from planner.laws.law import Law

_VECTOR_FORMAT = "ldp-planner-vectors"
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
    vectors = [
        _vector(law, answer, prefix, f"{law.name} {i} {prefix.hex()}", number)
        for law in parameters.questions
        for i, answer in enumerate(law.asked.examples())
        for prefix in _PREFIXES
        for number in law.rounds
    ]
    return {
        "format": _VECTOR_FORMAT,
        "version": 1,
        "parameters": parameters.hash,
        "vectors": vectors,
    }


def _vector(law: Law, answer: Any, prefix: bytes, seed: str, number: int | None) -> dict[str, Any]:
    source = _Recorded(prefix, seed)
    code = law.asked.code(answer)
    report = law.output(law.draw(code, source), code, number)
    vector = {"question": law.name, "answer": answer, "entropy": source.taken.hex()}
    if number is not None:
        vector["round"] = number
    return vector | {"report": report.hex()}
