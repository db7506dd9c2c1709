"""Colours of all charts: Okabe and Ito's, told apart by colour-blind readers on light and dark."""

from __future__ import annotations

__all__ = ["BLUE", "GREEN", "GREY", "ORANGE", "PURPLE", "SEQUENCE", "SKY", "VERMILION"]

BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
VERMILION = "#D55E00"
GREY = "#8C8C8C"

SEQUENCE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
