# Everything is installed into a virtual environment inside the project; nothing outside it changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-export check docs gallery format lint types clean

help:  ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## Create the virtual environment and install heed into it

# The stamp makes later runs fast: pip runs again only if the requirements have changed.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "heed needs Python 3.11 or newer; name one with 'make PYTHON=/path/to/python $(MAKECMDGOALS)'"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing heed and its dependencies into $(VENV) (a minute or two, once) ..."
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(READY)  ## Train a small English-German translator on built-in data and try it
	$(BIN)/heed demo

test: $(READY)  ## Run the tests
	$(BIN)/python -m pytest -m "not slow" -n auto --maxprocesses 4

test-slow: $(READY)  ## Run the tests that take minutes
	$(BIN)/python -m pytest -m slow --timeout 1800

# transformers is larger than everything else except torch, so only these tests install it.
test-export: $(VENV)/.transformers  ## Install transformers and test the Hugging Face export
	$(BIN)/python -m pytest tests/export/test_huggingface.py

$(VENV)/.transformers: $(READY)
	@echo "Installing transformers into $(VENV) (170 MB, once) ..."
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,test-export]'
	@touch $@

docs: $(READY)  ## Regenerate the pages made from code
	$(BIN)/python docs/generate.py

gallery: $(READY)  ## Write gallery/index.html: pages of `heed inspect`, with the model in the box and the demo's
	@test -d runs/demo || $(BIN)/heed demo
	$(BIN)/python docs/gallery.py

format: $(READY)  ## Format the code
	$(BIN)/ruff format src tests bench docs examples configs hatch_build.py
	$(BIN)/ruff check --fix src tests bench docs examples configs hatch_build.py

lint: $(READY)
	$(BIN)/ruff format --check src tests bench docs examples configs hatch_build.py
	$(BIN)/ruff check src tests bench docs examples configs hatch_build.py

types: $(READY)
	$(BIN)/mypy

check: lint types test  ## Check format, lint, types and tests, as CI does

clean:  ## Remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
