"""One page of results: every claim with its verdict, every figure, nothing from outside."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from html import escape

from .result import Claim, Result, Table

__all__ = ["as_json", "page"]

CLASSES = {"holds": "yes", "does not hold": "no", "not checked": "open"}
STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
h1 { line-height: 1.2; } h2 { margin-top: 3.5rem; border-top: 1px solid #ccc; padding-top: 1rem; }
table { border-collapse: collapse; font-size: .875rem; margin: .75rem 0; }
caption { text-align: left; font-style: italic; padding-bottom: .25rem; }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .6rem; text-align: left;
  vertical-align: top; }
.numbers td:not(:first-child), .numbers th:not(:first-child) { text-align: right;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
.claims th[colspan] { padding-top: 1.25rem; }
.scroll { overflow-x: auto; }
.verdict { font-weight: 600; white-space: normal; min-width: 7rem; }
.yes { color: #00664a; } .no { color: #a32a00; } .partly { color: #7a5200; } .open { color: #555; }
.source, .about, summary, footer { color: #555; font-size: .9rem; }
details { margin: .5rem 0; } a { color: #005a94; }
"""


def page(
    results: Mapping[str, Result], heading: str, about: str, plotly_js: str
) -> str:
    """The whole page as HTML; ``results`` by the name of their script."""
    claims = [
        (name, claim) for name, result in results.items() for claim in result.claims
    ]
    tally = Counter(claim.verdict.partition(" only")[0] for _, claim in claims)
    only = sum(claim.verdict.startswith("holds only") for _, claim in claims)
    tally["holds"] -= only
    counts = [("hold", tally["holds"]), ("hold only under a restriction", only)]
    counts += [
        ("do not hold", tally["does not hold"]),
        ("not checked", tally["not checked"]),
    ]
    listed = ", ".join(f"{number} {what}" for what, number in counts)
    contents = "".join(
        f'<li><a href="#{name}">{escape(result.title)}</a></li>'
        for name, result in results.items()
    )
    rows = "".join(_claim_rows(name, result) for name, result in results.items())
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(heading)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><style>{STYLE}</style><script>{plotly_js}</script></head>
<body><h1>{escape(heading)}</h1><p>{escape(about)}</p>
<p><strong>{len(claims)} claims: {listed}.</strong> Verdicts are computed from the numbers beside
them.</p>
<details><summary>Contents</summary><ul>{contents}</ul></details>
<h2>Claims</h2><div class="scroll"><table class="claims"><colgroup><col style="width: 18%">
<col style="width: 40%"><col></colgroup><tr><th>verdict</th><th>claim</th>
<th>numbers</th></tr>{rows}</table></div>
{"".join(_section(name, result) for name, result in results.items())}
</body></html>
"""


def as_json(results: Mapping[str, Result]) -> str:
    """Claims and tables for other programs to read."""
    return json.dumps(
        {
            name: {
                "title": result.title,
                "about": result.about,
                "claims": [
                    {
                        "claim": claim.text,
                        "source": claim.source,
                        "verdict": claim.verdict,
                        "numbers": claim.numbers,
                    }
                    for claim in result.claims
                ],
                "tables": [
                    {
                        "title": one.title,
                        "columns": list(one.columns),
                        "rows": one.cells(),
                    }
                    for one in result.tables
                ],
                "notes": list(result.notes),
            }
            for name, result in results.items()
        },
        indent=1,
    )


def _section(name: str, result: Result) -> str:
    charts = "".join(
        figure.to_html(
            full_html=False,
            include_plotlyjs=False,
            div_id=f"{name}-{i}",
            config={"displaylogo": False, "responsive": True},
        )
        for i, figure in enumerate(result.figures)
    )
    claims = "".join(
        f'<p><span class="verdict {_class(claim)}">{escape(_capital(claim.verdict))}</span>: '
        f"{escape(claim.text)} {escape(claim.numbers)}</p>"
        for claim in result.claims
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in result.notes)
    numbers = "".join(map(_table, result.tables))
    if numbers:
        numbers = f"<details><summary>Numbers</summary>{numbers}</details>"
    return (
        f'<section><h2 id="{name}">{escape(result.title)}</h2>'
        f'<p class="about">{escape(result.about)}</p>{claims}{notes}{charts}{numbers}'
        f'<p class="source">python examples/{name}.py</p></section>'
    )


def _claim_rows(name: str, result: Result) -> str:
    title = (
        f'<tr><th colspan="3"><a href="#{name}">{escape(result.title)}</a></th></tr>'
    )
    return title + "".join(
        f'<tr><td class="verdict {_class(claim)}">{escape(_capital(claim.verdict))}</td>'
        f'<td>{escape(claim.text)} <span class="source">({escape(claim.source)})</span></td>'
        f"<td>{escape(claim.numbers)}</td></tr>"
        for claim in result.claims
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.cells()
    )
    return (
        f'<div class="scroll"><table class="numbers"><caption>{escape(table.title)}</caption>'
        f"<tr>{head}</tr>{body}</table></div>"
    )


def _class(claim: Claim) -> str:
    return CLASSES.get(claim.verdict, "partly")


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
