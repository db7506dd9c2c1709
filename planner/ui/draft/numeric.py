"""A numeric question as it is being typed, with what people are assumed to tolerate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planner.errors import InputError
from planner.survey import Numeric, Question
from planner.survey.numeric_domain import NumericDomain
from planner.survey.preferences import (
    EmpiricalPreferences,
    GammaPreferences,
    HistogramPreferences,
    LognormalPreferences,
    NormalPreferences,
    Preferences,
)
from planner.ui.draft.parts import Aim, QuestionDraft, columns_of
from planner.ui.parts import cells

EVERYBODY = "everybody"
"""What stands in place of a model of preferences where all people answer."""

# Per model of preferences: what is typed, its explanation, and a start.
MODELS: dict[str, dict[str, tuple[str, str]]] = {
    "normal": {
        "mean": ("Typical largest epsilon that people accept", "5"),
        "sd": ("Spread around it (standard deviation)", "1.5"),
    },
    "lognormal": {
        "median": ("Largest epsilon that half of the people accept", "4"),
        "sigma": ("Spread of its logarithm", "0.5"),
    },
    "gamma": {"shape": ("Shape", "4"), "scale": ("Scale, in epsilon", "1")},
    "histogram": {
        "edges": ("Ends of the bins, in epsilon, rising", "0, 1, 2, 4, 8"),
        "shares": ("Share of the people in each bin", "0.1, 0.2, 0.4, 0.3"),
    },
    "sample": {},
    EVERYBODY: {},
}
_FORMS: dict[str, Callable[..., Preferences]] = {
    "normal": NormalPreferences,
    "lognormal": LognormalPreferences,
    "gamma": GammaPreferences,
}


@dataclass
class NumericDraft(QuestionDraft):
    """A numeric question as typed; see :class:`planner.survey.Numeric` for the fields.

    ``parameters`` has the text of every parameter of every model, so that trying another
    model loses nothing; ``sample`` is what was uploaded.
    """

    lower: str = "0"
    upper: str = "100"
    yes_no: bool = False
    epsilon: str = ""
    mean: str = ""
    sd: str = ""
    model: str = "normal"
    parameters: dict[str, str] = field(default_factory=dict)
    sample: tuple[float, ...] = ()

    @classmethod
    def of(cls, question: Question) -> NumericDraft:
        """The draft that builds this question."""
        about = question.numeric
        if about is None:
            raise InputError("kind", question.kind, "numeric", "Open it with the page of its kind.")
        draft = cls(
            question.name,
            cells.number_text(about.domain.lower),
            cells.number_text(about.domain.upper),
            about.domain.yes_no,
            "" if about.epsilon is None else cells.budget_text(about.epsilon),
            "" if about.mean is None else cells.number_text(about.mean),
            "" if about.sd is None else cells.number_text(about.sd),
            aim=Aim.of(question),
            mechanism=question.mechanism,
        )
        draft._take(about.preferences)
        return draft

    def parameter(self, name: str) -> str:
        """A parameter of the chosen model as typed."""
        return self.parameters.get(f"{self.model}.{name}", MODELS[self.model][name][1])

    def set_parameter(self, name: str, text: str) -> None:
        """Keep what was typed for a parameter of the chosen model."""
        self.parameters[f"{self.model}.{name}"] = text

    def _about(self, problems: list[str]) -> dict[str, Any]:
        del problems
        domain = NumericDomain(
            cells.number(self.lower, "smallest answer"),
            cells.number(self.upper, "largest answer"),
            self.yes_no,
        )
        numeric = Numeric(
            domain,
            self._preferences(),
            cells.budget(self.epsilon) if self.epsilon.strip() else None,
            cells.number(self.mean, "expected mean") if self.mean.strip() else None,
            cells.number(self.sd, "expected spread") if self.sd.strip() else None,
        )
        mechanism = self.mechanism
        return {"levels": (), "kind": "numeric", "numeric": numeric, "mechanism": mechanism}

    def _preferences(self) -> Preferences | None:
        if self.model == EVERYBODY:
            return None
        if self.model == "sample":
            return EmpiricalPreferences(self.sample)
        typed = [self.parameter(name) for name in MODELS[self.model]]
        if self.model == "histogram":
            edges, shares = typed
            return HistogramPreferences(columns_of(edges, "edges"), columns_of(shares, "shares"))
        pairs = zip(MODELS[self.model], typed, strict=True)
        return _FORMS[self.model](*(cells.number(text, name) for name, text in pairs))

    def _take(self, preferences: Preferences | None) -> None:
        match preferences:
            case NormalPreferences():
                self.model, typed = "normal", (preferences.mean, preferences.sd)
            case LognormalPreferences():
                self.model, typed = "lognormal", (preferences.median, preferences.sigma)
            case GammaPreferences():
                self.model, typed = "gamma", (preferences.shape, preferences.scale)
            case HistogramPreferences():
                self.model = "histogram"
                self.set_parameter(
                    "edges", ", ".join(map(cells.number_text, preferences.edges.tolist()))
                )
                self.set_parameter(
                    "shares", ", ".join(map(cells.number_text, preferences.shares.tolist()))
                )
                return
            case EmpiricalPreferences():
                self.model, self.sample = "sample", tuple(preferences.sample.tolist())
                return
            case _:
                self.model = EVERYBODY
                return
        for name, value in zip(MODELS[self.model], typed, strict=True):
            self.set_parameter(name, cells.number_text(value))
