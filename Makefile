# Every target sets up what it needs from a bare python3.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-slow lint format tables reproduction bench clean

demo: $(READY)
	$(BIN)/furthest demo

test: $(READY)
	$(BIN)/pytest -m "not slow" -n auto --dist loadfile

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

# The whole paper, 5,000 runs: about an hour on two cores; goes on where it was interrupted.
reproduction: $(READY)
	$(BIN)/furthest reproduce all --jobs 2 --out out/reproduction
	cp out/reproduction/report.md docs/reproduction.md
	mkdir -p docs/figures
	cp out/reproduction/figures/*.svg docs/figures/

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
