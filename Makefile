# Every target sets up what it needs from a bare python3.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-slow lint format tables bench clean

demo: $(READY)
	$(BIN)/furthest demo

test: $(READY)
	$(BIN)/pytest -m "not slow"

test-slow: $(READY)
	$(BIN)/pytest -m slow

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

tables: $(READY)
	$(BIN)/furthest reproduce table-1 table-4 table-5 table-6 table-7 table-8 --jobs 2

bench: $(READY)
	$(BIN)/python benchmarks/speed.py

$(READY): pyproject.toml
	@echo "setting up $(VENV), once ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	@touch $@

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
