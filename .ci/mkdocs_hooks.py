"""Build hooks of the documentation: MathML for formulas, links for roles, modules for reference.

MathML is shown by the browser itself, so a page needs no script and no font from elsewhere.
"""

from __future__ import annotations

import ast
import html
import inspect
import re
from importlib import import_module
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


NAMES = re.compile(r"^names of (?P<package>planner[.\w]*)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace ``modules of planner/solvers`` by an entry for each module there.

    And ``names of planner`` by each public name, its first sentence and its example.
    """
    return NAMES.sub(_examples, MODULES.sub(_entries, markdown))


def _examples(found: re.Match[str]) -> str:
    """Each public name of a package; what only comes back from a function has its example."""
    package = import_module(found["package"])
    stub = Path(package.__file__ or "").with_suffix(".pyi")
    homes = {
        alias.name: node.module
        for node in ast.walk(ast.parse(stub.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    makers = {}
    for name in homes:
        value = getattr(package, name)
        if inspect.isfunction(value):
            makers.setdefault(str(value.__annotations__.get("return")), name)
    entries = []
    for name, home in sorted(homes.items(), key=lambda pair: pair[0].lower()):
        text = inspect.getdoc(getattr(package, name)) or ""
        summary, _, rest = text.partition("\n\n")
        example = _example(rest)
        entry = [f"## [`{name}`][{home}.{name}]", " ".join(summary.split())]
        if example:
            entry.append(f"```python\n{example}\n```")
        elif name in makers:
            entry.append(f"What [`{makers[name]}`](#{makers[name].lower()}) returns.")
        entries.append("\n\n".join(entry))
    return "\n\n".join(entries)


def _example(text: str) -> str:
    """The first example of a docstring, up to a blank line."""
    _, _, examples = text.partition("Examples\n--------\n")
    lines = examples.split("\n")
    start = next((i for i, line in enumerate(lines) if line.startswith(">>>")), None)
    if start is None:
        return ""
    ends = (i for i in range(start, len(lines)) if not lines[i].strip())
    return "\n".join(lines[start : next(ends, len(lines))])


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
