# Each target does all of its own set-up: `make demo` and `make test` work in a fresh clone.
#
# PIP_ARGS   more arguments for pip, such as an index that has PyTorch without CUDA
# PYTEST     more arguments for pytest, such as tests/unit/cnet

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
AUDIT := $(VENV)/installed-audit
PACKAGES := cnet app worker
PIP_ARGS ?=
PYTEST ?=

PIP = $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check $(PIP_ARGS) -c constraints.txt
# A new environment has the pip of its Python. The one of Python 3.11 takes three times as long to choose packages.
NEW_PIP := pip>=25.3

# pip would compile all modules of all packages, in one process. cnet imports a tenth of them: they are compiled by
# importing these once, and the rest when it is imported, also where the environment forbids to keep what is compiled.
IMPORTED := torch.export, app.main, app.cli, app.up.command, worker.run.runner, celery.bin.worker, cnet.client, psycopg
export PYTHONDONTWRITEBYTECODE =

# The first interpreter that is new enough and runs at all.
FIND_PYTHON = for python in python3 python3.13 python3.12 python3.11; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$python; break; fi; done

.DEFAULT_GOAL := help
.PHONY: help install demo up test lint format audit sbom clean

help: ## show the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

install: $(STAMP) ## build .venv with everything in it

$(STAMP): pyproject.toml constraints.txt
	@python=$$($(FIND_PYTHON)); \
	if [ -z "$$python" ]; then \
		echo "cnet needs Python 3.11 or newer; on Debian and Ubuntu: apt install python3 python3-venv" >&2; exit 1; fi; \
	if ! $$python -c 'import venv, ensurepip' >/dev/null 2>&1; then \
		echo "$$python cannot make virtual environments; on Debian and Ubuntu: apt install $$($$python -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')" >&2; exit 1; fi; \
	if ! $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
		echo "making $(VENV) with $$($$python --version)"; rm -rf $(VENV); $$python -m venv $(VENV) || { rm -rf $(VENV); exit 1; }; fi
	@$(PIP) '$(NEW_PIP)' || echo "pip stays as old as it is, and takes longer" >&2
	$(PIP) -e '.[server,train,dev]'
	@$(BIN)/python -c 'import $(IMPORTED)'
	@touch $@

$(AUDIT): $(STAMP)
	$(PIP) -e '.[audit]'
	@touch $@

demo: $(STAMP) ## train a net, compress it through the service, prove what came out
	@$(BIN)/cnet demo

up: $(STAMP) ## run the service on http://127.0.0.1:8000, state in ./data
	@$(BIN)/cnet up

# One thread a process. There are two more processes than cores, because tests of whole services mostly wait; those come
# first (tests/acceptance), so that none of them is what the others wait for at the end.
test: $(STAMP) ## run all tests
	@$(BIN)/python -m compileall -q $(PACKAGES) tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $$(($$(nproc) + 2)) --dist loadfile --no-loadscope-reorder $(PYTEST)

lint: $(STAMP) ## check style, types and imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(STAMP) ## put the code into its form
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

audit: $(AUDIT) ## look the packages up in the database of known weaknesses
	$(BIN)/pip-audit --progress-spinner off --timeout 15 --skip-editable --local

sbom: $(AUDIT) ## write sbom.json: the packages that are installed, as CycloneDX
	$(BIN)/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml --mc-type application -o sbom.json $(BIN)/python

clean: ## remove what these targets made, but not ./data
	rm -rf $(VENV) sbom.json demo build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
