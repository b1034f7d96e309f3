# Every target makes its own .venv on a machine that has only python3 (3.11 or newer) and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo eval-absa eval-forensic test test-model check test-containers simulate attack chaos chaos-cluster bench screenshots clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 16

INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# What the program needs to run, and what its developers need on top.
$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) --editable '.[all]'
	@touch $@

# The tests bring a protocol of their own, which Parley knows by its entry points alone.
AUCTION := tests/plugins/parley-auction

$(VENV)/ready: pyproject.toml constraints.txt $(AUCTION)/pyproject.toml | $(VENV)/bin/python
	$(INSTALL) --editable '.[dev]'
	$(INSTALL) --no-deps --editable $(AUCTION)
	@touch $@

demo: $(VENV)/installed  ## set up, then run a debate offline on a private nats-server
	$(BIN)/parley demo

eval-absa: $(VENV)/ready  ## set up, then measure the aspect-sentiment pipeline on MAMS, if it is there
	$(BIN)/python -m parley.console.batch.eval_absa absa --data ../shared/data/mams --split test

eval-forensic: $(VENV)/installed  ## set up, then measure the forensic agents on labelled images, if there are any (10 minutes)
	$(BIN)/python -m parley.console.batch.eval_forensic --data ../shared/data/forensic ../shared/data/forensic2

# The browser of the tests in tests/browser: Debian's, since nobody else packages it for offline use.
CHROMIUM := /usr/bin/chromium-headless-shell
INSTALL_DEBIAN = apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq --no-install-recommends

$(CHROMIUM):
	@if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
		echo "The browser tests need $(CHROMIUM)." >&2; \
		echo "On Debian: sudo apt-get install chromium-headless-shell; elsewhere link a headless Chromium to this path." >&2; \
		exit 1; \
	fi
	$(INSTALL_DEBIAN) chromium-headless-shell fonts-dejavu-core

# An agent in another language, as the tests have one: Node.js and the packages of nats.js.
JAVASCRIPT := tests/javascript

$(JAVASCRIPT)/node_modules: $(JAVASCRIPT)/package.json
	@command -v npm >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; } || { \
		echo "The tests in $(JAVASCRIPT) need Node.js and npm." >&2; \
		echo "On Debian: sudo apt-get install nodejs npm" >&2; \
		exit 1; \
	}
	command -v npm >/dev/null || { $(INSTALL_DEBIAN) nodejs npm; }
	npm install --prefix $(JAVASCRIPT) --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

# What measures time or fills all cores by itself comes last, with nothing beside it.
ALONE := tests/attack tests/bench tests/chaos tests/simulation tests/web/test_load.py tests/web/test_slow_viewers.py

# Most tests wait for others, so that more of them than cores run side by side.
test: $(VENV)/ready $(JAVASCRIPT)/node_modules | $(CHROMIUM)  ## set up, then run all tests
	$(BIN)/python -m pytest -n 4 --dist loadfile $(ALONE:%=--ignore=%)
	$(BIN)/python -m pytest $(ALONE)

# llama-cpp-python is built from source, once (10 minutes of CPU time); tuning it to the building
# machine is known to end in illegal instructions.
$(VENV)/llama: | $(VENV)/ready
	CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF" $(BIN)/pip install --quiet \
		--disable-pip-version-check 'llama-cpp-python[server]==0.3.36'
	@touch $@

LOCAL_MODEL ?= qwen
test-model: $(VENV)/llama  ## build llama.cpp, fetch LOCAL_MODEL=qwen (1.1 GB), run whole debates on it (an hour)
	$(BIN)/parley models fetch $(LOCAL_MODEL)
	PARLEY_TEST_MODEL=$(LOCAL_MODEL) $(BIN)/python -m pytest tests/model

check: $(VENV)/ready  ## lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

SEEDS ?= 10000
simulate: $(VENV)/ready  ## simulate SEEDS=10000 small worlds in virtual time, faults included
	$(BIN)/python -m tests.simulation --seeds $(SEEDS)

attack: $(VENV)/ready  ## every login, header, subject and field at its extremes, against debates that run
	$(BIN)/python -m tests.attack

chaos: $(VENV)/ready  ## 500 debates in real processes that are killed, frozen and cut off
	$(BIN)/python -m tests.chaos

chaos-cluster: $(VENV)/ready  ## the same on three servers, whose leader is killed
	$(BIN)/python -m tests.chaos --cluster --debates 300

# In CI the short form: --short skips where no containers can be run, and says so.
CONTAINERS ?=
test-containers: $(VENV)/ready  ## the compose files on containers: every panel, replicas, kills, three nodes
	$(BIN)/python -m tests.containers $(CONTAINERS)

# Fonts of the pictures, Korean included; the page itself uses what the reader's machine has.
FONTS := fonts-inter fonts-nanum
screenshots: $(VENV)/ready | $(CHROMIUM)  ## take the README's pictures of the page from real debates
	dpkg --status $(FONTS) >/dev/null 2>&1 || { $(INSTALL_DEBIAN) $(FONTS); }
	$(BIN)/python -m tests.browser.screenshots -o console/web/screenshots

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) $(JAVASCRIPT)/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

bench: $(VENV)/ready  ## measure against a hand-written floor (5 minutes; wants a quiet machine)
	$(BIN)/python -m tests.bench -o bench-results
