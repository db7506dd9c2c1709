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
def tree_of(path):
    """The file's syntax, which nobody may change: others read it, too."""
    return ast.parse(path.read_text())


def _nodes(tree, *, eager):
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not (eager and isinstance(node, ast.FunctionDef)):
            waiting += ast.iter_child_nodes(node)


@cache
def imports_of(path, *, eager=False):
    """Every absolute name that a file imports anywhere in it, or when it is loaded."""
    names_imported = set()
    for node in _nodes(tree_of(path), eager=eager):
        if isinstance(node, ast.Import):
            names_imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level:  # examples may; inside the package every import is absolute
                assert PACKAGE not in path.parents, f"{path} imports relatively"
                continue
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            names_imported |= {
                name if name in MODULES else node.module for name in names
            }
    return names_imported
