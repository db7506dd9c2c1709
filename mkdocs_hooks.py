"""Build hooks of the documentation: formulas become MathML, docstrings' roles become links.

MathML is shown by the browser itself, so a page needs no script and no font from elsewhere.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(?:span|div) class="arithmatex">\\(?P<open>[(\[])(?P<tex>.*?)\\[)\]]</(?:span|div)>', re.DOTALL
)
ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):<code>~?(?P<name>[\w.]+)</code>")


def on_page_content(content: str, **_: Any) -> str:
    """Replace what ``pymdownx.arithmatex`` has marked, and ``:class:`name``` and its like."""
    return ROLE.sub(_link, FORMULA.sub(_mathml, content))


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found["open"] == "[" else "inline"
    return convert(html.unescape(found["tex"]).strip(), display=display)


def _link(found: re.Match[str]) -> str:
    name = found["name"]
    short = name.rsplit(".", 1)[-1]
    return f'<autoref identifier="{name}" optional><code>{short}</code></autoref>'
