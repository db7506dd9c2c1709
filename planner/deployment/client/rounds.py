"""A person's reports in many rounds: which round is theirs, and what is kept between rounds."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from planner.errors import InputError
from planner.laws.law import Law
from planner.laws.source import system

_HEAD = struct.Struct(">HH")  # the value that lasts, from 1; the last round
_SILENT = 0xFFFF  # nothing is known of earlier values: none is reported
_ID_BYTES = 8


def step(
    law: Law, code: Any, own: int, round_number: int, changed: bool
) -> Callable[[bytes | None], bytes]:
    """What is kept of a person after a round, from what was kept: it ends in an id and a report.

    ``own`` is the round, or the value, that this person reports.

    Raises
    ------
    InputError
        The round is not the person's, or is over. Nothing has been drawn.
    """
    if law.blanks:
        return partial(_next_value, law, code, own, round_number, changed)
    if round_number != own:
        remedy = "Ask in that round alone; a report in another would spend the budget again."
        raise InputError("round_number", round_number, f"{own}, this person's round", remedy)
    return lambda kept: _HEAD.pack(own, own) + _drawn(law, code) if kept is None else kept


def last_report(kept: bytes) -> bytes:
    """The id and the report."""
    return kept[_HEAD.size :]


def _next_value(
    law: Law, code: Any, own: int, round_number: int, changed: bool, kept: bytes | None
) -> bytes:
    """The report stays while its value lasts; a new id, as each round's report is another one.

    Who has no memory in round 1 begins there; later, it was lost, and they are silent for good.
    """
    if kept is None:
        value, lasting = 1 if round_number == 1 else _SILENT, None
    else:
        value, last = _HEAD.unpack_from(kept)
        if round_number == last:
            return kept
        if round_number < last:
            remedy = "Ask for this round or a later one; nothing was drawn."
            raise InputError("round_number", round_number, f"at least {last}", remedy)
        lasting = None if changed else last_report(kept)[_ID_BYTES:]
        value = min(value + changed, _SILENT)
    if lasting is None:
        drawn = _drawn(law, code) if value == own else _blank(law)
    else:
        drawn = system(_ID_BYTES) + lasting
    return _HEAD.pack(value, round_number) + drawn


def _drawn(law: Law, code: Any) -> bytes:
    return system(_ID_BYTES) + bytes([1])[: law.blanks] + law.draw(code, system)


def _blank(law: Law) -> bytes:
    return system(_ID_BYTES) + bytes(law.size)
