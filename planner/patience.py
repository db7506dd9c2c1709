"""Whether a long computation is still wanted: asked once a round by every loop that may be long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


@contextmanager
def patience(check: Callable[[], None]) -> Iterator[None]:
    """Have ``check`` called by what is computed inside; it raises to end it.

    Examples
    --------
    >>> rounds = []
    >>> with patience(lambda: rounds.append(1)):
    ...     still_wanted()
    >>> still_wanted(), len(rounds)
    (None, 1)
    """
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def still_wanted() -> None:
    """Return if the computation is still wanted; what :func:`patience` was given may raise."""
    check = _CHECK.get()
    if check is not None:
        check()
