# `make demo` and `make test` need Python 3.11 or newer with venv, and make; they install the rest
# into .venv. `make help` lists the targets.

PYTHON ?= python3
MEMBERSHIP ?= scamp
COMMIT ?= HEAD~1
# A part of the slow tests is a folder of tests/, or of a folder there.
PART ?=
SLOW = $(wildcard tests/$(PART) tests/*/$(PART))
VENV := .venv
unexport PYTHONDONTWRITEBYTECODE # otherwise every process that a test starts compiles camcast again
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-library test-slow tests lint style types bench against peers flame chaos docs
.PHONY: liars eclipse scale clean always

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

demo: $(VENV)/core ## Replay a day of departures through 118 live nodes (MEMBERSHIP=scamp)
	$(BIN)/camcast demo --membership $(MEMBERSHIP)

test: style ## Check style and types, and run the tests
	@$(MAKE) --no-print-directory --jobs types tests

test-library: style ## Check style and types, and run the tests of the library: not those of research
	@$(MAKE) --no-print-directory --jobs types tests TESTS="--ignore=tests/research"

# Two kinds of workers, for tests that compute and for tests that wait: tests/distribution.py.
# In a fresh checkout, the first line spares each worker to compile all tests for itself.
tests: $(VENV)/dev
	@test -d tests/__pycache__ || $(BIN)/python -m pytest --collect-only --quiet >/dev/null || true
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile $(TESTS)

test-slow: $(VENV)/dev ## Run the statistical and soak suites (an hour), or a folder's (PART=laws)
	$(BIN)/python -m pytest -m slow $(if $(PART),$(or $(SLOW),$(error there is no folder $(PART) in tests)))

lint: style types ## Check style and types

style: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/dev
	$(BIN)/mypy

bench: $(VENV)/dev ## Measure engine, codec, tables, look-ups, live multicast and simulators (MEMBERSHIP=scamp,dht)
	$(BIN)/python -m pytest benchmarks --membership $(MEMBERSHIP) --benchmark-json=bench.json
	$(BIN)/python benchmarks/figures.py bench.json

against: $(VENV)/dev ## Let this checkout and another commit do the same jobs, in turn (COMMIT=HEAD~1)
	$(BIN)/python benchmarks/against.py $(COMMIT)

peers: $(VENV)/core ## Let other systems do the same job, as far as they are installed (docs/benchmarks.md)
	cd benchmarks && ../$(BIN)/python -m peers --membership $(MEMBERSHIP) --json ../peers.json
	cd benchmarks && ../$(BIN)/python -m peers --membership $(MEMBERSHIP) --alone 20 --json ../peers-alone.json

flame: $(VENV)/dev ## Draw where the time of each row of `make bench` goes (ROWS="alone paced"; build/flames)
	$(BIN)/python benchmarks/flame.py "$(ROWS)"

chaos: $(VENV)/core ## Break processes and networks on purpose, as root (MEMBERSHIP=scamp,dht CHAOS="--only kill-50")
	$(BIN)/python -m tests.library.chaos --membership $(MEMBERSHIP) $(CHAOS)

docs: $(VENV)/dev ## Build the documentation as a site that is read offline: build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

liars: $(VENV)/dev ## Tell every lie to honest members, pairwise (an hour; LIARS="--minutes 5 --only Have")
	$(BIN)/python -m tests.library.hostile.liar_suite $(LIARS)

eclipse: $(VENV)/dev ## Measure which share of others' tables an attacker's k of n members get (ECLIPSE="--puppets 6")
	$(BIN)/python -m tests.library.hostile.eclipse $(ECLIPSE)

scale: $(VENV)/dev ## Measure the pipeline over 50 million trace records (1 GB of disk)
	rm -rf build/scale
	$(BIN)/python benchmarks/trace_generator.py build/scale --records 50000000
	$(BIN)/python benchmarks/pipeline_at_scale.py build/scale/run*

clean: ## Remove the environment and what tools left behind
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
	rm -rf .import_linter_cache bench.json peers.json peers-alone.json

# The environment names its Python and its folder: it is made anew where either is another.
WHICH = import os, sys; sys.version_info >= (3, 11) or sys.exit("CAMCAST needs Python 3.11 or \
newer, and $(PYTHON) is %d.%d. Name another: make PYTHON=python3.12 ..." % sys.version_info[:2]); \
print(sys.base_prefix, sys.version, os.getcwd())
$(VENV)/python: always
	@which=$$($(PYTHON) -c '$(WHICH)') && { test "$$which" = "$$(cat $@ 2>&1)" || \
	{ rm -rf $(VENV) && $(PYTHON) -m venv $(VENV) && echo "$$which" > $@; }; }

$(VENV)/core: pyproject.toml $(VENV)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/dev: pyproject.toml $(VENV)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/core
