# Everything a person does with a clone. `make` alone lists it.
#
#   make test PYTHON=python3.12 VENV=.venv-3.12     with another interpreter, beside the first
#   make test ARGS="-k report -x"                   ARGS goes to pytest, or to the benchmarks

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=

BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip --disable-pip-version-check
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)

# Stamps: what the environment was filled from, so that a second run has nothing to do.
MADE      := $(VENV)/.made-with-$(VERSION)
RUNTIME   := $(VENV)/.runtime
DEV       := $(VENV)/.dev
# The development lock holds the other whole: with it in place a user's command has all that it needs.
INSTALLED := $(or $(wildcard $(DEV)),$(RUNTIME))

COMPOSE ?= $(shell if docker compose version >/dev/null 2>&1; then echo docker compose; else echo docker-compose; fi)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint type audit bench docs chaos up down lock clean wheel

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## Compare four solvers on 95 hard Sudokus, with nothing installed but Python
	@echo '$$ scheduler submit --wait puzzles/hard.txt'
	@status=0; $(BIN)/scheduler submit --wait puzzles/hard.txt || status=$$?; \
	[ $$status -le 1 ] || exit $$status; \
	echo '$$ scheduler report'; \
	$(BIN)/scheduler report && exit $$status

test: $(DEV) ## Run the tests, and say which were skipped for want of a service
	$(BIN)/python -m pytest $(ARGS)

lint: $(DEV) ## Check style, formatting, and that imports go one way
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

type: $(DEV) ## Check types
	$(BIN)/mypy

audit: $(DEV) ## Look for unsafe code, and for known vulnerabilities of the locked libraries
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive problems models migrations workers scheduler
	$(BIN)/python scripts/audit.py requirements-dev.lock

bench: $(DEV) ## Measure the pipeline against a bare loop, plain Celery and a raw insert
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(DEV) ## Regenerate the CLI reference
	$(BIN)/python scripts/cli_reference.py docs/cli.md

chaos: $(DEV) ## Kill, suspend and cut off workers and servers under a batch, which must lose nothing (needs root)
	cd tests && $(abspath $(BIN))/python -m chaos $(ARGS)

up: ## Start Redis, PostgreSQL and the worker pools in containers
	$(COMPOSE) up --detach --build

down: ## Stop them; the database stays in its volume
	$(COMPOSE) --profile flower --profile cli down

lock: $(MADE) ## Renew both locks from pyproject.toml
	$(PIP) install --quiet --upgrade uv
	$(BIN)/uv pip compile $(LOCKING) --extra monitor --output-file requirements.lock pyproject.toml
	$(BIN)/uv pip compile $(LOCKING) --extra all --extra dev --constraint requirements.lock \
	  --output-file requirements-dev.lock pyproject.toml

wheel: $(DEV) ## Build the wheel and the source archive into dist/
	rm -rf dist
	$(BIN)/python -m build

clean: ## Remove the environment, caches and dist/; results (scheduler.db) stay
	rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# One lock for every Python from 3.11 on, and for every platform; no address of a package index inside.
LOCKING := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
  --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Cagematch needs Python 3.11 or newer; '$(PYTHON)' is $(or $(VERSION),not to be found)." \
	    "Name another: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments." \
	    "On Debian and Ubuntu: apt-get install python$(VERSION)-venv" >&2; exit 2; }
	@[ ! -e $(VENV) ] || [ -e $(VENV)/pyvenv.cfg ] || { \
	  echo "$(VENV) is there, but is no virtual environment. Name another: make $(MAKECMDGOALS) VENV=…" >&2; exit 2; }
	@echo "Making $(VENV) with Python $(VERSION)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(RUNTIME): $(MADE) requirements.lock pyproject.toml
	@echo "Installing the locked libraries into $(VENV) (some 400 MB; half a minute)"
	@$(PIP) install --quiet --require-hashes --requirement requirements.lock
	@$(PIP) install --quiet --no-deps --editable .
	@touch $@

$(DEV): $(MADE) requirements-dev.lock pyproject.toml
	@echo "Installing the locked libraries and development tools into $(VENV) (some 750 MB; a minute)"
	@$(PIP) install --quiet --require-hashes --requirement requirements-dev.lock
	@$(PIP) install --quiet --no-deps --editable .
	@touch $@
