# Each target does all its own set-up: on a fresh machine, `make demo` or `make test` is all.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DATA ?= ml-100k
RECIPE ?= plus
ITERATIONS ?=
PORT ?= 8000
PAPER_OPTIONS ?=

.PHONY: help demo serve test lint postgres chromium format bench paper clean

help: ## What there is to make
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "evichain needs Python 3.11 or newer; name one with PYTHON=..." >&2; exit 2; }
	@echo "Setting up $(VENV) (once; a few minutes)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[dev]'
	@touch $@

demo: $(READY) ## Train REC on MovieLens-100K, recommend, and explain
	@BIN=$(BIN) DATA=$(DATA) RECIPE=$(RECIPE) ITERATIONS=$(ITERATIONS) examples/demo.sh

serve: $(READY) ## Serve a model of MovieLens-100K, trained the first time
	@[ -f runs/serve-$(DATA)/model.json ] || $(BIN)/evichain train $(DATA) --recipe $(RECIPE) \
		$(if $(ITERATIONS),--iterations $(ITERATIONS)) --out runs/serve-$(DATA)
	@exec $(BIN)/evichain serve runs/serve-$(DATA) --port $(PORT)

# The tests' models are tiny: more threads than one would only wait for each other.
test: lint postgres chromium ## Lint, types and all tests
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --durations 25

lint: $(READY) ## Style, types and the direction of imports
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

# Where it cannot be had, tests that need it are skipped, or fail if CI is set.
postgres: ## A PostgreSQL server's programs, for the tests that start one
	@scripts/postgres.sh --install >/dev/null || [ -z "$$CI$$EVICHAIN_REQUIRE_POSTGRES" ]

chromium: ## A browser, for the tests of the page
	@scripts/chromium.sh --install >/dev/null || [ -z "$$CI$$EVICHAIN_REQUIRE_CHROMIUM" ]

format: $(READY) ## Put the sources into shape
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

bench: $(READY) ## The cost of a training step, as ratios, and of the service under load
	@$(BIN)/evichain bench step --data ml-100k
	@$(BIN)/evichain bench step --data ml-1m --evidence-limit 40 --max-depth 3 --no-reference
	@$(BIN)/evichain bench serve --data ml-1m

# Hours: what was measured is kept in results/cells, so that it can be ended and made to go on.
paper: $(READY) ## The tables and figures of the paper, into results/ (PAPER_OPTIONS=--quick: minutes)
	@$(BIN)/evichain paper all $(PAPER_OPTIONS)

clean: ## Remove what was made here
	rm -rf $(VENV) runs results .mypy_cache .ruff_cache .pytest_cache .hypothesis
