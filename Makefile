# Every target makes its own .venv on a machine that has only python3 (3.11 or newer) and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo eval-absa test check clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(VENV)/ready  ## set up, then run a debate offline on a private nats-server
	$(BIN)/parley demo

eval-absa: $(VENV)/ready  ## set up, then measure the aspect-sentiment pipeline on MAMS, if it is there
	$(BIN)/parley eval absa --data ../shared/data/mams --split test

test: $(VENV)/ready  ## set up, then run all tests
	$(BIN)/python -m pytest

check: $(VENV)/ready  ## lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
