"""What files of the project import."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "planner"


def _module(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(
        ".__init__"
    )


MODULES = {_module(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def imports_of(path, *, eager=False):
    """Every absolute name that a file imports anywhere in it, or when it is loaded."""
    tree = ast.parse(path.read_text())
    found = set()
    for node in ast.walk(tree):
        if eager and isinstance(node, ast.FunctionDef):
            node.body = [ast.Pass()]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level:  # examples may; inside the package every import is absolute
                assert PACKAGE not in path.parents, f"{path} imports relatively"
                continue
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in names}
    return found
