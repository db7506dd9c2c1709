"""What is shown of a model's effects in collections that were drawn."""

from __future__ import annotations

from planner.deployment.collecting.modelling import COEFFICIENT, EFFECT
from planner.laws.schema import Document
from planner.show.blocks import Block, Heading, Sentence, Table, column, percent
from planner.trial.effects import LEVEL, EffectPower, ModelPower

_TITLES = {EFFECT: "Average effects", COEFFICIENT: "Coefficients"}


def power_json(power: ModelPower) -> Document:
    """The effects of a model for programs."""
    unfitted = []
    for (question, outcome), collections in power.unfitted.items():
        if collections:
            row = {"question": question, "outcome": outcome, "collections": collections}
            unfitted.append(row)
    return {
        "model": power.model.text,
        "link": power.model.link,
        "collections": power.collections,
        "people": power.people,
        "are_drawn": power.are_drawn,
        "level": LEVEL,
        "unfitted": unfitted,
        "effects": power.effects,
    }


def power_blocks(power: ModelPower) -> list[Block]:
    """How often each effect is told apart from 0, beside what true answers would show."""
    who = f"of the {power.people:,} people of the file"
    if power.are_drawn:
        who = f"of {power.people:,} people drawn from its rows"
    blocks: list[Block] = [
        Heading(f"{power.model.text}: {power.collections:,} collections", level=1),
        Sentence(
            f"Each {who}, with the planned mechanism, fitted as aggregate --model does. Told "
            f"apart: the share of them in which p is below {LEVEL:.2g}; ± is the standard error "
            "that so many collections leave in it."
        ),
    ]
    for kind, title in _TITLES.items():
        effects = []
        for effect in power.effects:
            if effect.kind == kind:
                effects.append(effect)
        if effects:
            blocks.append(_table(title, effects))
    # Collections without a fit are not hidden in the shares above: how many is said of each answer.
    for (_, outcome), collections in power.unfitted.items():
        if collections:
            share = collections / power.collections
            sentence = (
                f"In {percent(share)} of the collections no finite coefficients fit {outcome!r}; "
                "they tell nothing apart, and are in no mean."
            )
            blocks.append(Sentence(sentence))
    return blocks


def _table(title: str, effects: list[EffectPower]) -> Table:
    outcomes = []
    names = []
    told_apart = []
    means = []
    deviations = []
    # What the same people's true answers would show: what is lost to privacy, and what to the
    # number of people, which no budget mends.
    directly = []
    told_apart_directly = []
    for effect in effects:
        outcomes.append(effect.outcome)
        names.append(effect.name)
        told_apart.append(_told_apart(effect))
        means.append(_figure(effect, effect.mean))
        deviations.append(_figure(effect, effect.deviation))
        directly.append(_figure(effect, effect.without_privacy))
        told_apart_directly.append(effect.told_apart_without_privacy)
    columns = (
        column("answer", outcomes),
        column("of", names),
        column("told apart", told_apart, str),
        column("mean", means, str),
        column("deviation", deviations, str),
        column("without privacy", directly, str),
        column("told apart then", told_apart_directly, percent),
    )
    return Table(title, columns, "everybody")


def _figure(effect: EffectPower, value: float | None) -> str:
    """A share in per cent, another number to three digits."""
    if value is None:
        return ""
    if effect.is_share:
        return f"{100 * value:.3g} %"
    return f"{value:.3g}"


def _told_apart(effect: EffectPower) -> str:
    return f"{100 * effect.told_apart:.1f} ± {100 * effect.monte_carlo_error:.1f} %"
