SHELL := bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
UV ?= $(firstword $(wildcard $(BIN)/uv) uv)

# Modules are compiled once, not in every process that tests start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test slow study faults bench lint docs lock clean

help: ## Show the targets.
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The environment is exactly the lock: a change of it builds the environment anew.
# uv only makes this faster; without it plain pip installs the same files.
$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		-r <(awk '/^[a-z]/ {keep = /^uv==/} keep' requirements.lock)
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

run: $(STAMP) ## Reproduce the paper's figures and numbers into results/ (about a minute).
	$(BIN)/lockstep paper

# The others are run quickly compiled; those with the marker optimized as users' programs are.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
AS_USERS := LOCKSTEP_TEST_COMPILATION=users $(PYTEST) $$(grep -rl optimized tests --include="test_*.py")

test: lint ## Check the code, then run the tests (without the slow ones and the studies).
	$(PYTEST) -m "not slow and not study and not optimized"
	$(AS_USERS) -m "optimized and not slow and not study"

slow: $(STAMP) ## Run the slow tests, which others stand for in `make test`.
	$(PYTEST) -m "slow and not study and not optimized"
	$(AS_USERS) -m "optimized and slow and not study"

STUDY := --dist loadgroup -rfEP --ignore tests/test_mutants.py
study: $(STAMP) ## Run the slow studies; the paper's at full precision goes to results/full.
	@failed=0; set -x; \
	$(PYTEST) $(STUDY) -m "study and not optimized" || failed=1; \
	$(AS_USERS) $(STUDY) -m "study and optimized" || failed=1; \
	exit $$failed

faults: $(STAMP) ## Put faults into the code, one by one, and see that tests fail.
	$(BIN)/python -m pytest -n 2 --dist worksteal -rfE -m study tests/test_mutants.py

bench: $(STAMP) ## Run the benchmarks.
	$(BIN)/python -m benchmarks

lint: $(STAMP) ## Check style and types.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP) ## Build the documentation into docs/_build.
	$(BIN)/sphinx-build -W -n --keep-going -j 2 -b html docs docs/_build

lock: ## Pin the dependencies of pyproject.toml in requirements.lock.
	$(UV) pip compile pyproject.toml --all-extras --universal --python-version 3.11 --fork-strategy fewest \
		--generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
		--quiet --output-file requirements.lock
	@! grep -n '://' requirements.lock

clean: ## Remove the environment, caches and everything built.
	rm -rf $(VENV) docs/_build docs/.jupyter_cache build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests docs benchmarks examples -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
