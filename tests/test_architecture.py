"""Data flows one way: the imports are read from the source, lazy ones included."""

import ast
import re
import runpy
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

from planner import QuestionPlan, Survey, SurveyPlan
from planner.limits import CONFIDENCE, SAME_ERROR
from planner.planning.option import Part
from planner.survey.question import BaseQuestion
from tests.cli.running import shown
from tests.imports import MODULES, PACKAGE, ROOT, imports_of, tree_of

# What may be imported: only names of a lower layer, or of the same layer without circles.
LAYERS = (
    ("arrays", "errors", "limits", "on_first_use", "patience"),
    ("laws",),
    ("arguments", "files", "frames"),
    ("policy",),
    ("solvers",),
    ("estimates", "survey"),
    ("mechanisms",),
    ("outsiders",),
    ("planning",),
    ("deployment", "trial"),
    ("show",),
    ("cli", "ui"),
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
SEARCHES = RANK["planning"]  # from here on solvers are called


INNER = [name for name in MODULES if name != "planner"]


def _part(module):
    """The part of the package that a module belongs to: its first name below ``planner``."""
    return module.split(".")[1]


def _rank(part):
    assert part in RANK, f"give planner/{part} a layer in {Path(__file__).name}"
    return RANK[part]


def _inner(module):
    return {name for name in imports_of(MODULES[module]) if name.startswith("planner.")}


def test_imports_point_down():
    for module in INNER:
        for name in _inner(module):
            here = _part(module)
            there = _part(name)
            assert here == there or _rank(there) <= _rank(here), (
                f"{module} imports {name}"
            )


def test_below_planning_only_answers_of_solvers_are_known():
    answers = {"planner.solvers.answers", "planner.solvers.types"}
    for module in INNER:
        if _part(module) != "solvers" and _rank(_part(module)) < SEARCHES:
            names = {name for name in _inner(module) if _part(name) == "solvers"}
            assert names <= answers, f"{module} searches: it imports {names - answers}"


def test_the_command_line_and_the_app_never_meet():
    for module in MODULES:
        for face, other in (("cli", "ui"), ("ui", "cli")):
            if module.startswith(f"planner.{face}"):
                assert not any(_part(name) == other for name in _inner(module)), module


# What computes a figure; how digits are rounded, and where a line is drawn, is layout.
FORMULAS = {
    *("sqrt", "exp", "log", "log1p", "expm1", "tanh", "sinh", "square", "power"),
    *("divide", "outer", "cumsum", "prod", "var", "std", "hypot", "interp"),
    *("geomspace", "linspace"),
}
LAID_OUT = {
    "planner.show.figures.decoys_figure": {"geomspace", "cumsum"},  # points of a line
    "planner.show.relations._association": {"log"},  # which odds are shown first
    "planner.show.svg._log_marks": {"**"},  # where an axis has marks
    "planner.ui.views.explore": {"geomspace"},  # places of a slider
}


def _formulas(tree, module):
    """Each formula in a module, with the function that it stands in."""
    formulas = set()

    def visit(node, where):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            where = f"{module}.{node.name}"
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in FORMULAS:
                formulas.add((where, name))
        match node:
            case ast.BinOp(op=ast.Pow(), right=ast.Constant()):
                formulas.add((where, "**"))
        for child in ast.iter_child_nodes(node):
            visit(child, where)

    visit(tree, module)
    return formulas


def test_faces_compute_no_figure():
    """Figures that two faces state are one object of planning, of estimates or of a trial."""
    computed = set()
    for module, path in MODULES.items():
        if module.startswith(("planner.show.", "planner.cli.", "planner.ui.")):
            computed |= _formulas(tree_of(path), module)
    left = {
        (where, name)
        for where, name in computed
        if name not in LAID_OUT.get(where, set())
    }
    assert left == set()


def test_the_finder_of_formulas_finds_them():
    text = "def error(x):\n    return np.sqrt(x) + y**2\n"
    formulas = _formulas(ast.parse(text), "show")
    assert formulas == {("show.error", "sqrt"), ("show.error", "**")}


def _circle(edges):
    done = set()
    path = []

    def visit(name):
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return None
        path.append(name)
        for other in sorted(edges.get(name, ())):
            if found := visit(other):
                return found
        path.pop()
        done.add(name)
        return None

    return next((found for name in sorted(edges) if (found := visit(name))), None)


def test_no_circles_between_modules_or_parts():
    modules = {name: _inner(name) & set(MODULES) - {name} for name in INNER}
    assert _circle(modules) is None
    parts = {}
    for name, others in modules.items():
        parts.setdefault(_part(name), set()).update({_part(other) for other in others})
    for name, others in parts.items():
        others.discard(name)
    assert _circle(parts) is None


def test_the_circle_finder_finds_circles():
    assert _circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert _circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None


def test_heavy_libraries_stay_in_their_places():
    for module in INNER:
        roots = {name.partition(".")[0] for name in imports_of(MODULES[module])}
        assert "streamlit" not in roots or _part(module) == "ui", module
        assert "cvxpy" not in roots or _part(module) in ("solvers", "planning"), module
        eager = {
            name.partition(".")[0] for name in imports_of(MODULES[module], eager=True)
        }
        assert "cvxpy" not in eager, module  # a second that most commands need not pay
        assert not roots & {"tests", "app", "benchmarks", "examples"}, module


def test_the_way_from_a_survey_to_its_plan_is_short(tmp_path):
    """With every option: files that hand it on, ways back up, whose methods run; no solvers."""
    survey = tmp_path / "clinic.toml"
    example = (ROOT / "examples" / "clinic.toml").read_text()
    ledger = f'[survey]\nledger = "{tmp_path / "ledger.json"}"\n'
    survey.write_text(example.replace("1.5", "1.53").replace("[survey]\n", ledger))
    carried = (Survey, BaseQuestion, Part, QuestionPlan, SurveyPlan, Path)
    # a function counts where it is met first
    entered = set()
    runs = []
    classes = set()

    def see(frame, event, _):
        code = frame.f_code
        ours = code.co_filename.startswith(f"{PACKAGE}/")
        of_ours = ours or code.co_filename == "<string>"  # by us or by dataclasses
        of_a_solver = code.co_filename.startswith(f"{PACKAGE}/solvers/")
        if event != "call" or not of_ours or of_a_solver:
            return
        kind = type(frame.f_locals.get("self"))
        if (
            kind.__module__.startswith("planner.")
            and ".solvers." not in kind.__module__
        ):
            classes.add(kind)
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        is_property = isinstance(getattr(kind, code.co_name, None), property)
        handed = any(isinstance(frame.f_locals[name], carried) for name in given)
        if ours and not is_property and handed and code not in entered:
            entered.add(code)
            runs[-1].append(Path(code.co_filename).relative_to(PACKAGE).with_suffix(""))

    pages = ("--report", tmp_path / "r.html", "--handout", tmp_path / "h.html")
    files = (*pages, "--out", tmp_path / "p.json", "--record")
    shown("plan", ROOT / "examples" / "health.toml")  # what is loaded once is no way
    for options in (["--json"], [*files, "--details"]):
        runs.append([])
        sys.setprofile(see)
        try:
            shown("plan", survey, *options)
        finally:
            sys.setprofile(None)
    floors = [[RANK[path.parts[0]] for path in run] for run in runs]
    climbs = sum(here < there for run in floors for here, there in pairwise(run))
    # A file for each subject, a kind of question for example, is a room of its own.
    assert 15 < len({path for run in runs for path in run}) <= 25
    assert 5 < climbs <= 13
    # The laws of all mechanisms are among them: their integers say what a false report does.
    assert 15 < len(classes) <= 52


def test_the_picture_of_the_architecture_is_drawn_from_the_imports():
    drawn = runpy.run_path(str(ROOT / ".ci" / "pictures.py"))["drawn"]
    standing = (ROOT / "docs/images/architecture.svg").read_text()
    assert drawn("architecture") == standing, (
        "draw it: python .ci/pictures.py architecture"
    )


def test_every_theory_page_has_its_picture():
    for page in (ROOT / "docs/theory").glob("*.md"):
        text = page.read_text()
        pictures = re.findall(r"\]\(\.\./(images/[\w-]+\.svg)\)", text)
        assert page.stem == "index" or pictures, page
        assert all((ROOT / "docs" / picture).exists() for picture in pictures)


def _names(tree):
    """Classes and constants of a module, type variables apart."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            if isinstance(node, ast.Assign):
                targets = node.targets
            else:
                targets = [node.target]
            for name in (child for target in targets for child in ast.walk(target)):
                if (
                    isinstance(name, ast.Name)
                    and name.id.strip("_")[1:]
                    and name.id[:2] != "__"
                ):
                    yield name.id


def test_one_word_is_one_thing():
    owners = {}
    for module, path in MODULES.items():
        for name in _names(tree_of(path)):
            owners.setdefault(name, set()).add(module)
    assert {name: where for name, where in owners.items() if len(where) > 1} == {}


# Numbers that people meet, and what else happens to be as large.
MET_BY_PEOPLE = {CONFIDENCE, SAME_ERROR}
AS_LARGE = {
    "planner.ui.views.explore": {0.95, 0.005},  # a cap of shares, and a slider's step
}


def _numbers(tree):
    """Numbers written in a module, those in its sentences and examples apart."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is float:
            yield node.value


def test_a_number_that_people_meet_has_one_home():
    second_homes = {}
    for module, path in MODULES.items():
        text = path.read_text()
        numbers = set(_numbers(ast.parse(text)))
        again = numbers & MET_BY_PEOPLE - AS_LARGE.get(module, set())
        if again and module != "planner.limits":
            second_homes[module] = again
    assert second_homes == {}


def test_the_finder_of_numbers_finds_defaults():
    text = "def limits(confidence: float = 0.95): ..."
    assert list(_numbers(ast.parse(text))) == [CONFIDENCE]


def test_no_test_is_imported_by_another():
    importers = {
        path: name
        for path in sorted(Path(__file__).parent.rglob("*.py"))
        for name in imports_of(path)
        if re.match(r"tests\.([a-z_]+\.)*test_", name)
    }
    assert importers == {}


def test_no_constant_is_left_behind():
    """A name that stands in the package once is read by nobody."""
    words = re.findall(r"\w+", "\n".join(path.read_text() for path in MODULES.values()))
    once = {word for word, times in Counter(words).items() if times == 1}
    constants = {n for path in MODULES.values() for n in _names(tree_of(path))}
    assert {name for name in constants & once if name.isupper()} == set()
