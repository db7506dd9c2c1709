"""Every error the planner raises on purpose.

    PlannerError
    |-- InputError (also a ValueError)   an argument, file or answer is not usable
    |   `-- FileError                    ... and it came from, or was meant for, a file
    |-- SolverError                      no certified answer could be produced
    |   |-- InfeasibleError              the requirements exclude each other
    |   |-- UnboundedError               a requirement is missing, so there is no optimum
    |   `-- ConvergenceError             a solver stopped before it was done
    `-- VerificationError                numbers do not keep the privacy they promise

Each message names the offending argument and value, what is allowed, and what
to do about it. The command line prints the message alone, without a traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

_MOST_NAMES = 20
_WIDEST = 60


class PlannerError(Exception):
    """Base class of all errors raised on purpose by this package.

    ``reason`` is what is wrong, and ``remedy`` what to do or to try. All survive pickling, with
    everything they say, as workers send them to their parent.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        self.reason = reason
        self.remedy = remedy
        super().__init__(_sentence(reason, remedy))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).__new__, (type(self), *self.args), self.__dict__

    def worded(self, name: Callable[[str], str]) -> str:  # noqa: ARG002 - it says no keys
        """What it says, with a face's ``name`` of each key."""
        return str(self)


def mark(name: str) -> str:
    """A key or table of survey files in a phrase of an error: faces have names of their own for it.

    Examples
    --------
    >>> error = InputError("users", 0, "above 0", f"Leave {mark('asked')} out.")
    >>> str(error)
    'users is 0 but must be above 0. Leave asked out.'
    >>> error.worded({"users": "People", "asked": "Questions a person answers"}.get)
    'People is 0 but must be above 0. Leave Questions a person answers out.'
    """
    return f"\0{name}\0"


class InputError(PlannerError, ValueError):
    """An argument is outside what is allowed; ``reason`` says so without the remedy.

    Parameters
    ----------
    argument:
        Name of the argument, column or key.
    value:
        The offending value; shown shortened. ``None`` is missing, and what has no length empty.
    allowed:
        The allowed range, as a phrase that completes "must be ...".
    remedy:
        What to do about it, as a sentence. Optional.
    problem:
        What is wrong, as a clause, where no allowed range describes it.
    place:
        Where the argument stands in a document, in words, the outermost first.

    Examples
    --------
    >>> raise InputError("users", 0, "a whole number of at least 1")
    Traceback (most recent call last):
    ...
    planner.errors.InputError: users is 0 but must be a whole number of at least 1.
    """

    def __init__(
        self,
        argument: str,
        value: object,
        allowed: str,
        remedy: str = "",
        problem: str = "",
        place: tuple[str, ...] = (),
    ) -> None:
        self.argument = argument
        self.value = value
        self.allowed = allowed
        self.remedy = remedy
        self.problem = problem
        self.place = place
        self.reason = _named(self._reason(), str)
        Exception.__init__(self, self.worded(str))

    def _reason(self) -> str:
        if not (self.problem or self.allowed):
            return f"{', '.join((*self.place, mark(self.argument)))} is missing"
        stated = (
            f"{mark(self.argument)} is {_stated(self.value)} but must be {self.allowed}"
        )
        return ": ".join(
            (*filter(None, [", ".join(self.place)]), self.problem or stated)
        )

    def worded(self, name: Callable[[str], str]) -> str:
        """The message, with a face's ``name`` of each key."""
        return _named(_sentence(self._reason(), self.remedy), name)

    def at(self, *place: str, argument: str = "") -> InputError:
        """The mistake at a place of a document, of what is called so there."""
        problem = (
            f"{self.value}: {self.problem}"
            if isinstance(self, FileError)
            else self.problem
        )
        about = argument or self.argument, self.value, self.allowed, self.remedy
        return InputError(*about, problem, place)

    @classmethod
    def unknown(
        cls, argument: str, value: object, known: Iterable[str], remedy: str
    ) -> InputError:
        """A name that is none of those that are known; one that it resembles is suggested.

        Examples
        --------
        >>> raise InputError.unknown("level", "sever", ["severe", "common"], "Name one of them.")
        Traceback (most recent call last):
        ...
        planner.errors.InputError: level is 'sever' but must be one of severe, common. Did you mean 'severe'? Name one of them.
        """  # noqa: E501 - the message is one line
        names = list(known)
        more = (
            f" and {len(names) - _MOST_NAMES:,} more"
            if len(names) > _MOST_NAMES
            else ""
        )
        if isinstance(value, str):
            from difflib import get_close_matches

            close = get_close_matches(value, names, 1)
            remedy = f"Did you mean {close[0]!r}? {remedy}" if close else remedy
        return cls(
            argument, value, f"one of {', '.join(names[:_MOST_NAMES])}{more}", remedy
        )

    @classmethod
    def because(cls, argument: str, reason: str, remedy: str) -> InputError:
        """An argument that no allowed range describes: ``reason`` says what is wrong with it.

        Examples
        --------
        >>> raise InputError.because("file", "the file has changed since sealing", "Get it again.")
        Traceback (most recent call last):
        ...
        planner.errors.InputError: the file has changed since sealing. Get it again.
        """
        return InputError(argument, None, "", remedy, reason)

    def within(self, path: str | Path) -> FileError:
        """The mistake, told of the file, or part of one, that it was read from.

        Examples
        --------
        >>> raise InputError("users", 0, "at least 1", "Count them.").within("survey.toml")
        Traceback (most recent call last):
        ...
        planner.errors.FileError: survey.toml: users is 0 but must be at least 1. Count them.
        """
        return FileError(path, self.at(*self.place)._reason(), self.remedy)


class FileError(InputError):
    """A file cannot be read, understood or written; ``reason`` says why.

    Examples
    --------
    >>> raise FileError("survey.toml", "line 3, column 7: expected '='", "Fix the line.")
    Traceback (most recent call last):
    ...
    planner.errors.FileError: survey.toml: line 3, column 7: expected '='. Fix the line.
    """

    def __init__(self, path: str | Path, reason: str, remedy: str = "") -> None:
        super().__init__("file", str(path), "", remedy, reason)

    def worded(self, name: Callable[[str], str]) -> str:
        """The file, and what is wrong with it."""
        return f"{self.value}: {super().worded(name)}"


class SolverError(PlannerError):
    """No certified answer could be produced."""


class InfeasibleError(SolverError):
    """The requirements exclude each other: there is no mechanism that meets them all."""


class UnboundedError(SolverError):
    """A requirement is missing, so that the error can be made as small as one likes."""


class ConvergenceError(SolverError):
    """A solver stopped before it was done; its iterate is not returned."""


class VerificationError(PlannerError):
    """Exact re-verification failed: the numbers do not keep the promised budgets."""

    def __init__(
        self, reason: str, remedy: str = "Do not deploy these parameters."
    ) -> None:
        super().__init__(reason, remedy)


def _named(text: str, name: Callable[[str], str]) -> str:
    """The phrase with a name in place of each marked key."""
    parts = text.split("\0")
    return "".join(name(part) if i % 2 else part for i, part in enumerate(parts))


def _stated(value: object) -> str:
    if value is None:
        return "missing"
    if type(value) in (str, bytes, list, tuple, dict, set, frozenset) and not value:
        return "empty"
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or of thousands of digits
        text = f"of type {type(value).__name__}, and too large to show,"
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."


def _sentence(reason: str, remedy: str) -> str:
    return f"{reason.rstrip('.')}. {remedy}".rstrip()
