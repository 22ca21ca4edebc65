# Every target sets up what it needs from a bare python3.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
MINIMUM := .venv-minimum
PACKAGES := .venv-packages
DOCS := .venv-docs

# What `make test-rest` and `make test-packages` run: the first wants a browser, or compiles again and
# again, for the cache and for the reproduction, or is a great many processes; the second wants a
# great many packages.
REST := tests/server tests/study/test_remote.py tests/paper \
	$(addprefix tests/test_,docs.py fuzz.py cache.py compiling.py parts.py shipped.py)
APART := $(addprefix --ignore=,$(REST) tests/adapters)

.PHONY: demo test coverage test-slow test-rest test-packages test-minimum docs lint format tables reproduction bench wheel clean

demo: $(READY)
	$(BIN)/furthest demo

test: $(READY)
	$(BIN)/pytest -m "not slow" -n auto --dist worksteal $(APART)

# The service, its pages in a browser, a server as a storage; every block of the documentation; the
# reproduction; machine code on disk.
test-rest: $(READY)
	$(BIN)/pytest -m "not slow" -n auto --dist worksteal $(REST)

# The same tests, half as quick again: which lines of Python they run.
coverage: $(READY)
	$(BIN)/pytest -m "not slow" -n auto --dist worksteal --cov --cov-report=term

test-slow: $(READY)
	$(BIN)/python -m pip install --quiet --group notebook --group image --group build --group docs
	$(BIN)/pytest -m slow

# With the real packages of the tools that furthest/adapters is for, and of the examples' data.
test-packages: $(PACKAGES)/.ready
	$(PACKAGES)/bin/pytest tests/adapters tests/test_docs.py -k "adapters or examples" -n auto

# With the lowest versions that pyproject.toml allows, in an environment of their own. The compiled
# code has its own place, too: another Numba would write over it. Old releases use what new ones
# deprecate.
test-minimum: $(MINIMUM)/.ready
	NUMBA_CACHE_DIR=$(abspath $(MINIMUM))/cache $(MINIMUM)/bin/pytest -m "not slow" -n auto --dist worksteal \
		-W ignore::DeprecationWarning \
		tests/kernels tests/test_numba.py tests/test_simulation.py tests/test_cli.py \
		tests/test_columns.py tests/study/test_study.py tests/study/test_postgres.py \
		tests/study/test_sqlite.py tests/study/test_fork.py tests/study/test_signature.py

# The site, from docs/: begin with out/site/index.html.
docs: $(DOCS)/.ready
	$(DOCS)/bin/python -m sphinx --fresh-env --fail-on-warning --keep-going --quiet docs out/site

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

# With the machine code of every rule and stopping test inside.
wheel: $(READY)
	$(BIN)/python scripts/wheel.py --out dist

$(READY): pyproject.toml
	@echo "setting up $(VENV), once ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	@touch $@

$(MINIMUM)/.ready: pyproject.toml
	@echo "setting up $(MINIMUM), once ..."
	$(PYTHON) -m venv $(MINIMUM)
	$(PYTHON) scripts/minimum_versions.py > $(MINIMUM)/requirements.txt
	$(MINIMUM)/bin/python -m pip install --quiet --upgrade pip
	$(MINIMUM)/bin/python -m pip install --quiet --editable . --group dev \
		--requirement $(MINIMUM)/requirements.txt
	@touch $@

$(PACKAGES)/.ready: pyproject.toml
	@echo "setting up $(PACKAGES), once ..."
	$(PYTHON) -m venv $(PACKAGES)
	$(PACKAGES)/bin/python -m pip install --quiet --upgrade pip
	$(PACKAGES)/bin/python -m pip install --quiet --editable ".[all]" --group dev --group adapters --group examples
	@touch $@

$(DOCS)/.ready: pyproject.toml
	@echo "setting up $(DOCS), once ..."
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --upgrade pip
	$(DOCS)/bin/python -m pip install --quiet --editable . --group docs
	@touch $@

clean:
	rm -rf $(VENV) $(MINIMUM) $(PACKAGES) $(DOCS) .venv-comparison .coverage out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
