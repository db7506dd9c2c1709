"""What is one text in the app, and a list or a table in a survey's file.

The values of a known group are typed as ``north; south`` or ``18 to 99 by 5``, and what belongs to
each value or cell as ``north = 60; south = 40``. Text that has no such form is left to the reader
of files, which says what is wrong.
"""

from __future__ import annotations

import re

from planner.laws.schema import Document
from planner.survey.values import split, text_of

# A number of more digits than these is read as a single name, and refused as a group of
# one.
_RANGE = re.compile(
    r"(?P<lower>-?\d{1,9}) *to *(?P<upper>-?\d{1,9})( *by *(?P<step>\d{1,9}))?"
)


def cells_of(text: str) -> list[str]:
    """The cells of a list in one text."""
    listed = split(text)
    if not isinstance(listed, list):
        return []
    return list(map(str, listed))


def pairs_of(text: str) -> dict[str, str]:
    """A table of what belongs to each name.

    Examples
    --------
    >>> pairs_of("north = 60; south=40")
    {'north': '60', 'south': '40'}
    """
    pairs = {}
    for cell in cells_of(text):
        # A cell without "=" has a blank beside its name, which the reader of files
        # refuses under that name.
        name, _, belongs = cell.partition("=")
        pairs[name.strip()] = belongs.strip()
    return pairs


def text_of_pairs(pairs: object) -> str:
    """What :func:`pairs_of` reads as this table; of text, that was typed, the text itself."""
    if not isinstance(pairs, dict):
        return text_of(pairs)
    return "; ".join(f"{name} = {text_of(belongs)}" for name, belongs in pairs.items())


def group_values(text: str) -> Document | list[str]:
    """The values of a group: names, or the range of a whole number.

    Examples
    --------
    >>> group_values("north; south"), group_values("18 to 99 by 5")
    (['north', 'south'], {'kind': 'number', 'lower': 18, 'upper': 99, 'step': 5})
    """
    numbers = _RANGE.fullmatch(text.strip())
    if numbers is None:
        return cells_of(text)
    values: Document = {"kind": "number"}
    for key, number in numbers.groupdict().items():
        if number:
            values[key] = int(number)
    return values


def text_of_group(values: object) -> str:
    """What :func:`group_values` reads as these values; of text, that was typed, the text itself."""
    if not isinstance(values, dict):
        return text_of(values)
    text = f"{text_of(values.get('lower'))} to {text_of(values.get('upper'))}"
    step = values.get("step", 1)
    if step != 1:
        text += f" by {text_of(step)}"
    return text


def read_known(survey: Document) -> Document:
    """The table ``survey`` with groups and population as a file has them."""
    read = dict(survey)
    groups = survey.get("groups")
    if isinstance(groups, dict):
        read["groups"] = dict(groups)
        for name, values in groups.items():
            # A list or a table has come from a file, and is in the file's form already.
            if isinstance(values, str):
                read["groups"][name] = group_values(values)
    population = survey.get("population")
    if isinstance(population, str):
        read["population"] = pairs_of(population)
    return read


def set_group(survey: Document, number: int, name: str, values: str) -> None:
    """Type the name and the values of a group, at its place; without both it goes."""
    rows = list(survey.get("groups", {}).items())
    names = [other for other, _ in rows]
    del names[number : number + 1]
    if name.strip() in names:  # it waits for a name that no other group has
        name = ""
    row = (name.strip(), values)
    if number < len(rows):
        rows[number] = row
    else:
        rows.append(row)
    # A row with either of the two stays: it is half typed, and the page asks for the
    # rest.
    survey["groups"] = {name: values for name, values in rows if name or values}
    if not survey["groups"]:
        del survey["groups"]
