"""From a document to a survey, over the drafts of questions."""

from __future__ import annotations

from typing import Any

from planner.survey import Survey
from planner.ui.draft.categorical import CategoricalDraft, PairChoice
from planner.ui.draft.numeric import EVERYBODY, MODELS, NumericDraft
from planner.ui.draft.parts import Aim, QuestionDraft, SetsDraft
from planner.ui.draft.sampled import SampledDraft
from planner.ui.draft.survey import SurveyDraft
from planner.ui.parts import cells


def settle(document: dict[str, Any]) -> tuple[Survey | None, tuple[str, ...]]:
    """The survey if all is right, and a sentence for each thing that is not."""
    about = document["survey"]
    models = [one.get("preferences", {}).get("model", "normal") for one in document["question"]]
    if any(not isinstance(model, str) or model not in MODELS for model in models):
        return None, ("Preferences are of a model that is not known: choose another.",)
    aims = [text_of(about.get(key)) for key in ("design", "objective", "asked")]
    draft = SurveyDraft(
        text_of(about.get("name")),
        text_of(about.get("users"), "users"),
        [_question(one) for one in document["question"]],
        aims[0] or "split",
        aims[1] or "sum",
        aims[2],
    )
    built = draft.build()
    return (built.survey if built.complete else None), built.problems


def text_of(value: Any, key: str = "") -> str:
    """A cell as text."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        if all(isinstance(one, str) for one in value):
            return cells.items_text(tuple(value))
        return "; ".join(text_of(one) for one in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if key == "epsilon":
        return cells.budget_text(value)
    return f"{value:,}" if key == "users" else cells.number_text(value)


def _question(one: dict[str, Any]) -> QuestionDraft:
    targets = one.get("target", ())
    error = next((t["error"] for t in targets if "error" in t and "level" not in t), None)
    aim = Aim(text_of(one.get("weight")) or "1", text_of(error))
    name, kind = text_of(one.get("name")), one.get("kind", "categorical")
    mechanism = text_of(one.get("mechanism"))
    if kind == "numeric":
        return _number(one, name, aim, mechanism)
    if kind == "sampled-choice":
        return _sampled(one, name, aim)
    rows = [
        {
            "level": text_of(row.get("name")),
            "epsilon": text_of(row.get("epsilon"), "epsilon"),
            "items": text_of(row.get("items")),
            "count": text_of(row.get("item_count")),
            "importance": text_of(row.get("importance")),
            "share": text_of(row.get("prior")),
        }
        for row in one.get("level", ())
    ]
    rule, pairs = one.get("rule", "min"), {}
    if isinstance(rule, list):
        for i, first in enumerate(rows):
            for j in range(i, len(rows)):
                cell = text_of(rule[i][j])
                if cell:
                    names = frozenset((first["level"].strip(), rows[j]["level"].strip()))
                    pairs[names] = PairChoice(cell != "inf", "" if cell == "inf" else cell)
        rule = "pairs"
    objective = "minimax" if one.get("criterion") == "minimax" else "worst-case"
    if objective != "minimax" and any(row["share"].strip() for row in rows):
        objective = "expected"
    draft = CategoricalDraft(name, rows, rule, pairs, objective, aim=aim, mechanism=mechanism)
    if kind == "item-set":
        sets = one.get("sets", {})
        draft.several = True
        draft.sets = SetsDraft(
            text_of(sets.get("sizes")).replace(";", ","),
            sets.get("popularity", "zipf"),
            text_of(one.get("padding_length")),
        )
    if kind == "ordinal":
        draft.in_order, draft.mechanism = True, ""
        draft.order = text_of(one.get("order"))
        draft.scores = text_of(one.get("scores"))
        draft.wanted = one.get("wanted", draft.wanted)
    return draft


def _number(one: dict[str, Any], name: str, aim: Aim, mechanism: str) -> NumericDraft:
    about = one.get("preferences", {})
    model = about.get("model", EVERYBODY)
    texts = {
        f"{model}.{key}": text_of(value).replace(";", ",")
        for key, value in about.items()
        if key not in ("model", "values")
    }
    return NumericDraft(
        name,
        text_of(one.get("lower")),
        text_of(one.get("upper")),
        bool(one.get("yes_no", False)),
        text_of(one.get("epsilon"), "epsilon"),
        text_of(one.get("mean")),
        text_of(one.get("sd")),
        model=model,
        parameters=texts,
        sample=tuple(about.get("values", ())),
        aim=aim,
        mechanism=mechanism,
    )


def _sampled(one: dict[str, Any], name: str, aim: Aim) -> SampledDraft:
    rows = []
    for level in one.get("level", ()):
        values = cells.item_list(text_of(level.get("items")))
        counts = cells.item_list(text_of(level.get("yes_counts")))
        rows += [
            {
                "level": text_of(level.get("name")),
                "epsilon": text_of(level.get("epsilon"), "epsilon"),
                "value": values[k] if k < len(values) else "",
                "expected": counts[k] if k < len(counts) else "",
            }
            for k in range(max(len(values), len(counts)))
        ]
    about = one.get("sampling", {})
    return SampledDraft(
        name,
        rows,
        about.get("relies_on", "aggregates-only"),
        about.get("acknowledged"),
        text_of(about.get("cap", 0.45)),
        text_of(about.get("floor", 0.1)),
        text_of(about.get("none_epsilon"), "epsilon"),
        bool(about.get("everyone_has_value", False)),
        aim=aim,
    )
