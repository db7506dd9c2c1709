"""The checksum of a line of a report file, by which damage on the way is noticed."""

from __future__ import annotations

from hashlib import sha256


def line_check(
    parameters: str, question: str, report_id: str, round_number: int | None, report: str
) -> str:
    """The first 16 hexadecimal digits of SHA-256 of the fields, joined by newlines.

    The order is parameters, round (empty if there is none), report (base64), id, question. It
    depends on the values only, so that a line may be written anew with other blanks or another
    order of its keys. It betrays damage, not malice: whoever can write a line can write this too.

    Examples
    --------
    >>> line_check("0" * 64, "q", "0011223344556677", None, "AAAAAA==")
    '2167707bae03b8c0'
    """
    number = "" if round_number is None else str(round_number)
    text = "\n".join((parameters, number, report, report_id, question))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
