# Two commands matter: `make run` opens the app, `make test` checks everything.
# Both set up a virtual environment of their own on first use.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
APT_IS_OURS := [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null
APT_INSTALL := apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends
DATA ?= ../shared/data
HOURS ?= 2
SEED ?= 1
# Each of the hundreds of processes that tests start would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE
# What an installation is doing, one line a package, so that nobody takes it for hung.
PROGRESS := sed -n -e 's/^Collecting \([^ ]*\).*/  fetching \1/p' -e 's/^Installing .*/  installing/p' -e '/^ERROR/p'

.PHONY: help run test coverage release sweep fuzz bench reproduce mutate docs format clean

help:
	@echo "make run      open the app in the browser (PORT=8501)"
	@echo "make test     lint, types, tests, doctests, browser tests"
	@echo "make coverage  the same tests, with the lines that they run counted"
	@echo "make release  the site, the wheel, the container, other processors' roundings, the benchmarks' own tests"
	@echo "make sweep    properties over many more random cases than make test has time for"
	@echo "make fuzz     damaged files against every reader (HOURS=2, SEED=1)"
	@echo "make bench    measure speed beside its peers and limits"
	@echo "make reproduce  the papers' tables and figures on one page (DATA=folder of the data sets)"
	@echo "make mutate   change the solvers and mechanisms in small ways; the tests must notice (SAMPLE=1000, SEED=1)"
	@echo "make docs     build the documentation into build/site"
	@echo "make format   format the code"
	@echo "make clean    remove the virtual environment and caches"

run: $(VENV)/run.stamp
	$(BIN)/ldp-planner app --port $(PORT)

# A test that waits for ever fails by its name; the slowest takes a tenth of this.
PATIENCE := --timeout 300

test: $(VENV)/test.stamp chromium node
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy & types=$$!; \
	$(BIN)/python -m pytest -n 3 --dist loadscope --no-loadscope-reorder $(PATIENCE) --ignore=tests/release; \
	tests=$$?; wait $$types && exit $$tests

coverage: $(VENV)/test.stamp chromium node
	$(BIN)/python -m pytest -n 3 --dist loadscope $(PATIENCE) --cov --cov-report=term --ignore=tests/release

release: $(VENV)/test.stamp chromium node
	$(BIN)/python -m pytest -n 2 tests/release

sweep: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n 2 --hypothesis-profile=sweep tests --ignore=tests/browser --ignore=tests/ui

fuzz: $(VENV)/test.stamp
	FUZZ_SECONDS=$$($(BIN)/python -c 'print($(HOURS) * 3600)') FUZZ_SEED=$(SEED) $(BIN)/python -m pytest -s tests/fuzz

bench: $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/all.py # as the command line and the app

reproduce: $(VENV)/run.stamp
	$(BIN)/python examples/reproduce.py --data $(DATA) --out build

mutate: $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --editable '.[mutation]'
	$(BIN)/python -m tests.mutants $(and $(SAMPLE),$(SAMPLE) $(SEED))

docs: $(VENV)/test.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --config-file .ci/mkdocs.yml
	@echo "Open build/site/index.html. To search, serve it:"
	@echo "  python3 -m http.server --directory build/site --bind 127.0.0.1"

format: $(VENV)/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist mutants *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Debian ships venv apart from Python; as root we can fetch it, others are told.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
	  if $(APT_IS_OURS); then $(APT_INSTALL) python3-venv && $(PYTHON) -m venv $(VENV); \
	  else echo "Python's venv module is missing: install the package python3-venv."; exit 1; fi; }
	@echo "Made the virtual environment $(VENV)."
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/run.stamp: $(BIN)/python pyproject.toml
	@echo "Installing the planner and the libraries it needs; the first time takes a minute or two."
	$(BIN)/python -m pip install --editable . | $(PROGRESS)
	@touch $@

$(VENV)/test.stamp: $(BIN)/python pyproject.toml
	@echo "Installing the planner, the libraries it needs and those of its tests: two minutes or three."
	$(BIN)/python -m pip install --editable '.[test,cluster,docs]' | $(PROGRESS)
	@touch $@ $(VENV)/run.stamp

# Browser tests use the system's Chromium (Playwright's own where apt is not ours to use), and
# the JavaScript client's tests use Node.
.PHONY: chromium node
chromium: $(VENV)/test.stamp
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  echo "Fetching Chromium for the tests of the pages."; \
	  if $(APT_IS_OURS); then $(APT_INSTALL) chromium >/dev/null; \
	  else $(BIN)/python -m playwright install chromium; fi; }

node:
	@command -v node >/dev/null || { \
	  echo "Fetching Node for the tests of the JavaScript client."; \
	  if $(APT_IS_OURS); then $(APT_INSTALL) nodejs >/dev/null; \
	  else echo "Node 20 or newer is missing: install the package nodejs."; exit 1; fi; }
