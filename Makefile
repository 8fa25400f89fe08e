# A fresh clone needs python3 (3.11 or newer) and make; each target installs what it needs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.run
TEST_READY := $(VENV)/.test
COMPILED := $(VENV)/.compiled

.DEFAULT_GOAL := help
.PHONY: help run test test-long test-all check lock audit bench bench-store bench-api bench-cascade bench-living bench-extensions bench-secured bench-hostile bench-tenants fuzz fuzz-sizes simulate format clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1 \t\2/' | expand -t 24

run: $(COMPILED) ## start the server on 127.0.0.1:8080 with its store in ./probate.db (ARGS="--store memory:" …)
	@exec $(BIN)/probate serve $(ARGS)

JOBS ?= auto
MOST := $(if $(filter auto,$(JOBS)),4,$(JOBS))
WORKERS := $(if $(filter-out 1,$(JOBS)),--numprocesses=$(JOBS) --maxprocesses=$(MOST) --dist=loadfile --no-loadscope-reorder)
# Tests start hundreds of processes: each would compile the sources again if PYTHONDONTWRITEBYTECODE were set.
test test-long test-all: export PYTHONDONTWRITEBYTECODE :=
PYTEST = PROBATE_ETCD="$$(tools/find-etcd $(VENV)/etcd)" && export PROBATE_ETCD && \
	$(BIN)/python tools/find-kubectls.py $(VENV)/kubectls && export PROBATE_KUBECTLS="$$PWD/$(VENV)/kubectls" && \
	$(BIN)/python tools/find-clients.py $(VENV)/clients && export PROBATE_CLIENTS="$$PWD/$(VENV)/clients" && \
	$(BIN)/python -m pytest $(WORKERS)

test: $(TEST_READY) $(COMPILED) ## run the everyday tests, with real etcd members and real clients (ARGS="-k watch"; JOBS=1 for one process)
	@$(PYTEST) -m "not long" $(ARGS)

test-long: $(TEST_READY) $(COMPILED) ## run the tests marked `long`: thousands of random histories, hundreds of simulated crashes
	@$(PYTEST) -m long $(ARGS)

test-all: $(TEST_READY) $(COMPILED) ## run every test
	@$(PYTEST) $(ARGS)

check: $(TEST_READY) ## check format, lint, types, layers, names, dead code, generated code, lock files, secrets; with CI set, also coverage
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check-names.py
	$(BIN)/vulture
	$(BIN)/python tools/make-etcd-rpc.py --check
	$(BIN)/python tools/lock.py --check
	$(BIN)/python tools/find-secrets.py
	$(if $(CI),$(MAKE) coverage)

# CI=true makes random examples the same in each run, and with them the lines that they reach.
coverage: export CI := true
coverage: $(TEST_READY) ## check that the unit tests reach as much of src as the floor in pyproject.toml says
	@rm -rf .coverage && mkdir .coverage
	$(BIN)/coverage run -m pytest tests/unit -q -m "not long" $(WORKERS) $(ARGS)
	@$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --format=total

lock: $(TEST_READY) ## write the lock files again, with the newest versions that pyproject.toml allows
	@$(BIN)/python -m venv $(VENV)/uv && $(VENV)/uv/bin/python -m pip install --quiet --disable-pip-version-check uv
	@PATH="$$PWD/$(VENV)/uv/bin:$$PATH" $(BIN)/python tools/lock.py

audit: $(TEST_READY) ## check whether any locked package has a known vulnerability; says so if it cannot reach the database
	@$(BIN)/python tools/audit.py $(VENV)/audit

bench: bench-store bench-api bench-cascade bench-living bench-extensions bench-secured bench-hostile bench-tenants ## measure the store, the API, cascades, controllers, extensions, security, attacks and tenants, each against its limit in the same run (ARGS=--quick for a short one)

bench-store: $(TEST_READY) $(COMPILED) ## measure the store alone, against raw SQLite
	@$(BIN)/python bench/store.py $(ARGS)

bench-api: $(TEST_READY) $(COMPILED) ## measure the API alone, against a bare uvicorn
	@$(BIN)/python bench/api.py $(ARGS)

bench-cascade: $(TEST_READY) $(COMPILED) ## measure cascades alone, against raw SQLite (ARGS="1000 10000" for short ones)
	@$(BIN)/python bench/cascade.py $(filter-out --quick,$(ARGS))

bench-living: $(TEST_READY) $(COMPILED) ## measure controllers alone: 5,000 pods that are created and deleted, and what churn leaves behind
	@$(BIN)/python bench/living.py $(ARGS)

bench-extensions: $(TEST_READY) $(COMPILED) ## measure what extensions cost: a webhook, a policy, server-side apply
	@$(BIN)/python bench/extensions.py $(ARGS)

bench-secured: $(TEST_READY) $(COMPILED) ## measure what TLS, credentials and RBAC cost, compared with a server without them
	@$(BIN)/python bench/secured.py $(ARGS)

bench-hostile: $(TEST_READY) $(COMPILED) ## measure how long other clients wait during attacks, and how much memory the attacks take
	@$(BIN)/python bench/hostile.py $(ARGS)

bench-tenants: $(TEST_READY) $(COMPILED) ## measure the deletion of a tenant against raw SQLite, what 1,000 tenants cost, and what tenants cost each other
	@$(BIN)/python bench/tenants.py $(ARGS)

SEEDS ?= 300
STEPS ?= 500
FIRST ?= 0
simulate: $(TEST_READY) $(COMPILED) ## run everything on virtual time, through crashes and faults (SEEDS=300 STEPS=500 FIRST=0; SEED=7 repeats one)
	@PYTHONPATH=tests $(BIN)/python -m simulation --steps $(STEPS) $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --first $(FIRST))

fuzz: $(TEST_READY) $(COMPILED) ## send valid and invalid requests from the server's own OpenAPI documents, and corrupted patches, documents, selectors, definitions: ten minutes
	@PYTHONPATH=tests $(BIN)/python -m fuzzing.fuzz $(ARGS)

fuzz-sizes: $(TEST_READY) $(COMPILED) ## put values of 100 KB, and then 2.5 MB, into every field that is parsed, and measure the event loop (ARGS="--only CronJob", --requests, --fields, --thorough)
	@PYTHONPATH=tests $(BIN)/python -m fuzzing.fuzz_sizes $(ARGS)

format: $(TEST_READY) ## format the sources
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove the virtual environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage

$(RUN_READY): pyproject.toml locks/run.txt locks/build.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Probate needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 run")'
	@echo "setting up $(VENV) (once, under a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.3"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement locks/run.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --build-constraint locks/build.txt --editable .
	@touch $(RUN_READY)

$(TEST_READY): $(RUN_READY) locks/run-and-test.txt
	@echo "adding the packages that tests and checks need (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement locks/run-and-test.txt
	@touch $(TEST_READY)

# Compiled once, so that no start of the server compiles: images often set PYTHONDONTWRITEBYTECODE.
$(COMPILED): $(RUN_READY) $(shell find src -name '*.py')
	@$(BIN)/python -m compileall -q -j 0 src
	@touch $(COMPILED)
