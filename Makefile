# Two commands matter: `make run` opens the app, `make test` checks everything.
# Both set up a virtual environment of their own on first use.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
DATA ?= ../shared/data

.PHONY: help run test bench reproduce docs format clean

help:
	@echo "make run      open the app in the browser (PORT=8501)"
	@echo "make test     lint, types, tests, doctests, browser tests"
	@echo "make bench    measure speed beside its peers and limits"
	@echo "make reproduce  the papers' tables and figures on one page (DATA=folder of the data sets)"
	@echo "make docs     build the documentation into build/site"
	@echo "make format   format the code"
	@echo "make clean    remove the virtual environment and caches"

run: $(VENV)/run.stamp
	$(BIN)/python -m streamlit run app.py --server.port $(PORT)

test: $(VENV)/test.stamp chromium
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2

bench: $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python benchmarks/all.py

reproduce: $(VENV)/run.stamp
	$(BIN)/python examples/reproduce.py --data $(DATA) --out build

docs: $(VENV)/test.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

format: $(VENV)/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Debian ships venv apart from Python; as root we can fetch it, others are told.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); \
	  else echo "Python's venv module is missing: install the package python3-venv."; exit 1; fi; }
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/run.stamp: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/test.stamp: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test,cluster,docs]'
	@touch $@ $(VENV)/run.stamp

# Browser tests use the system's Chromium; Playwright's own where apt is not ours to use.
.PHONY: chromium
chromium: $(VENV)/test.stamp
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	  else $(BIN)/python -m playwright install chromium; fi; }
