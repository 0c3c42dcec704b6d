# The commands for work on a clone. `make` alone lists them.
#
#   make test PYTHON=python3.12 VENV=.venv-3.12     use another interpreter and environment
#   make test ARGS="-k report -x"                   pass ARGS to pytest, or to the benchmarks
#   make test ARGS="-n 0 -m slow -k indexes"        ARGS override the options below

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=

BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip --disable-pip-version-check
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)

# Stamps. They record what the environment was installed from, so that a second run installs nothing.
MADE      := $(VENV)/.made-with-$(VERSION)
RUNTIME   := $(VENV)/.runtime
DEV       := $(VENV)/.dev
# The development lock contains the runtime lock: an environment with it can run the user's commands.
INSTALLED := $(or $(wildcard $(DEV)),$(RUNTIME))

COMPOSE ?= $(shell if docker compose version >/dev/null 2>&1; then echo docker compose; else echo docker-compose; fi)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-all lint type audit bench docs chaos up down lock clean wheel

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## Compare four solvers on 95 hard Sudokus; needs Python only
	@echo '$$ scheduler submit --wait puzzles/hard.txt'
	@status=0; $(BIN)/scheduler submit --wait puzzles/hard.txt || status=$$?; \
	[ $$status -le 1 ] || exit $$status; \
	echo '$$ scheduler report'; \
	$(BIN)/scheduler report && exit $$status

# Two at a time on two cores, one file each: a file's tests share fixtures. ARGS come last and win.
test: $(DEV) ## Run the tests that are not slow, and count those that were skipped (ARGS: options of pytest)
	$(BIN)/python -m pytest -n logical --dist loadfile -m "not slow" $(ARGS)

test-all: $(DEV) ## Run all tests; most of the slow ones need Redis, PostgreSQL or Docker
	$(BIN)/python -m pytest -n logical --dist loadfile $(ARGS)

lint: $(DEV) ## Check style, formatting and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

type: $(DEV) ## Check types
	$(BIN)/mypy

audit: $(DEV) ## Search for unsafe code and for known vulnerabilities of the locked libraries
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive problems models migrations workers scheduler src
	$(BIN)/python scripts/audit.py requirements-dev.lock

bench: $(DEV) ## Compare the pipeline with a bare loop, plain Celery and a raw insert
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(DEV) ## Regenerate the CLI reference, and the outputs in the README and the guide
	$(BIN)/python scripts/cli_reference.py docs/cli.md
	$(BIN)/python scripts/doc_outputs.py README.md docs/guide/*.md

chaos: $(DEV) ## Check that a batch survives killed, suspended and disconnected workers and servers (needs root)
	cd tests && $(abspath $(BIN))/python -m chaos $(ARGS)

up: ## Start Redis, PostgreSQL and the worker pools in containers
	$(COMPOSE) up --detach --build

down: ## Stop the containers; keep the volume with the database
	$(COMPOSE) --profile flower --profile cli down

lock: $(MADE) ## Update both lock files from pyproject.toml
	$(PIP) install --quiet --upgrade uv
	$(BIN)/uv pip compile $(LOCKING) --extra monitor --output-file requirements.lock pyproject.toml
	$(BIN)/uv pip compile $(LOCKING) --extra all --extra dev --constraint requirements.lock \
	  --output-file requirements-dev.lock pyproject.toml

wheel: $(DEV) ## Build the wheel and the source archive into dist/
	rm -rf dist
	$(BIN)/python -m build

clean: ## Remove the environment, caches and dist/; keep scheduler.db
	rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# The locks cover every platform and every Python from 3.11 on. They contain no address of a package index.
LOCKING := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
  --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "found $(PYTHON) = $(or $(VERSION),no command), expected Python 3.11 or newer." \
	    "Run: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no modules venv and ensurepip, which virtual environments need." \
	    "On Debian and Ubuntu, run: apt-get install python$(VERSION)-venv" >&2; exit 2; }
	@[ ! -e $(VENV) ] || [ -e $(VENV)/pyvenv.cfg ] || { \
	  echo "found $(VENV) without pyvenv.cfg, expected a virtual environment." \
	    "Run: make $(MAKECMDGOALS) VENV=.venv-new" >&2; exit 2; }
	@echo "Creating $(VENV) with Python $(VERSION)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(RUNTIME): $(MADE) requirements.lock pyproject.toml
	@echo "Installing the locked libraries into $(VENV) (about 400 MB, 30 s)"
	@$(PIP) install --quiet --require-hashes --requirement requirements.lock
	@$(PIP) install --quiet --no-deps --editable .
	@touch $@

$(DEV): $(MADE) requirements-dev.lock pyproject.toml
	@echo "Installing the locked libraries and development tools into $(VENV) (about 750 MB, 60 s)"
	@$(PIP) install --quiet --require-hashes --requirement requirements-dev.lock
	@$(PIP) install --quiet --no-deps --editable .
	@touch $@
