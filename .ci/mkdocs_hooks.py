"""Build hooks of the documentation: MathML for formulas, links for roles, modules for reference.

MathML is shown by the browser itself, so a page needs no script and no font from elsewhere.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(?:span|div) class="arithmatex">\\(?P<open>[(\[])(?P<tex>.*?)\\[)\]]</(?:span|div)>',
    re.DOTALL,
)
ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):<code>~?(?P<name>[\w.]+)</code>")
# The converter raises a prime, which fonts draw raised already, and sets "ln x" without a space.
PRIME = re.compile(
    r"<msup>(?P<base><(m[io])[^>]*>[^<]*</\2>)<mi>(?P<prime>&#x0203[2-4];)</mi></msup>"
)
SPACED = re.compile(r"(<mi>(?:ln|exp)</mi>)(?=<m(?:i|n|frac|sub))")
MODULES = re.compile(r"^modules of (?P<folder>planner[\w/]*)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace a line ``modules of planner/solvers`` by a reference entry for each module there."""
    return MODULES.sub(_entries, markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Replace what ``pymdownx.arithmatex`` has marked, and ``:class:`name``` and its like."""
    return ROLE.sub(_link, FORMULA.sub(_mathml, content))


def _entries(found: re.Match[str]) -> str:
    paths = sorted(Path(found["folder"]).glob("[a-z]*.py"))
    names = [path.with_suffix("") for path in paths]
    return "\n\n".join(f"::: {'.'.join(name.parts)}" for name in names)


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found["open"] == "[" else "inline"
    tex = html.unescape(found["tex"]).strip().replace("{aligned}", "{align*}")
    return SPACED.sub(
        r'\1<mspace width="0.17em"/>', PRIME.sub(_prime, convert(tex, display=display))
    )


def _prime(found: re.Match[str]) -> str:
    return f"<mrow>{found['base']}<mo>{found['prime']}</mo></mrow>"


def _link(found: re.Match[str]) -> str:
    name = found["name"]
    short = name.rsplit(".", 1)[-1]
    return f'<autoref identifier="{name}" optional><code>{short}</code></autoref>'
