"""Surveys that several tests share: the examples, and a small file to spoil in all ways."""

from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
GOOD = """[survey]
name = "health"
users = 100_000

[[question]]
name = "diagnosis"
kind = "categorical"
rule = "min"

[[question.level]]
name = "severe"
epsilon = "ln 4"
items = ["HIV"]

[[question.level]]
name = "common"
epsilon = "1.2 * ln 6"
item_count = 4
"""
