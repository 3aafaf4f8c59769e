# Two commands do all the set-up on a fresh machine: `make try` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Test processes, of one thread and about 1.5 GB of memory each.
WORKERS ?= 2

.PHONY: try test test-registry check format docs clean

SENTENCE := I would like to live in a quiet house near the sea.

try: $(VENV)/.installed ## Install into .venv, then invert a sentence: from its vector alone, then with the encoder at hand
	$(BIN)/unembed invert "$(SENTENCE)"
	$(BIN)/unembed invert "$(SENTENCE)" --strategy guided

test: $(VENV)/.installed-dev ## Install into .venv, then every check and test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --numprocesses $(WORKERS) --dist worksteal -rs

test-registry: $(VENV)/.installed-dev ## The tests that fetch the published optional encoders (about 500 MB)
	$(BIN)/pytest -m registry tests/encoders

check: $(VENV)/.installed-dev ## The checks without the tests
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

docs: $(VENV)/.installed-dev ## The documentation in site/: the command line's page made from the code, every link checked
	$(BIN)/python docs/cli_reference.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html"

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[all,stores]" --group dev
	touch $@

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
