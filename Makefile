# The AOR study. `make book` builds the report, `make test` tests everything; `make help` lists all.
# What is stale is known by `aor`, and of the book by `book/_ext/build.py`.

PROFILE ?= laptop
PORT ?= 8000
PYTHON ?= python3

# A conda environment made from environment.yml is used as it is; otherwise one is made in .venv.
ifneq ($(and $(filter-out base,$(CONDA_DEFAULT_ENV)),$(wildcard $(CONDA_PREFIX)/bin/jupyter-book)),)
  BIN := $(CONDA_PREFIX)/bin
  ENV := $(CONDA_PREFIX)/.installed
else
  BIN := .venv/bin
  ENV := .venv/.installed
endif
INSPECT := $(dir $(ENV)).inspect
LLAMA := $(dir $(ENV)).llama
AOR := $(BIN)/aor
REQUIREMENTS := $(wildcard requirements/*.in)

PARAMS := params/$(PROFILE).yaml

# Packages are installed without compiling them. Where this variable is set, as in many containers, every
# process would compile again what it imports: ten seconds each.
unexport PYTHONDONTWRITEBYTECODE

.DELETE_ON_ERROR:
.PHONY: help book data results check lint test test-nightly bench inspect llama lock serve clean

help:  ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  PROFILE=smoke|laptop|reference|first_real|unseen|steering|full chooses the study (now: $(PROFILE)), as in: make book PROFILE=smoke"
	@echo "  FROM=study.zip makes the book of somebody else's results, and runs no model"

book: $(ENV)  ## Build the report: build/html/index.html
	@$(BIN)/python -m book._ext.build $(PARAMS) $(if $(FROM),--from "$(FROM)")

data: $(ENV)  ## Make and validate the stimuli only
	@$(AOR) data $(PARAMS)
	@$(AOR) validate $(PARAMS)

results: $(ENV)  ## Make the stimuli, run the models, judge their answers and steer them
	@$(AOR) make $(PARAMS)

check: lint  ## Check style, types and imports, and run the fast tests, in under a minute
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses=2 -m "not slow and not nightly" tests

lint: $(ENV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

test: $(ENV) $(INSPECT)  ## Check everything that CI does: lint, build the smoke report, run all but nightly tests
	$(MAKE) --jobs=2 --output-sync=target lint smoke-book
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses=2 --dist=loadfile --no-loadscope-reorder -m "not nightly" --junitxml=build/tests.xml

.PHONY: smoke-book
smoke-book: $(ENV)
	$(MAKE) book PROFILE=smoke

test-nightly: smoke-book $(INSPECT) $(LLAMA)  ## Run all tests, the long ones too, and report what they cover
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses=2 --dist=loadfile \
	  --cov --cov-report=term:skip-covered --cov-report=xml:build/coverage.xml

bench: smoke-book  ## Measure speed; benchmarks/README.md says what is usual
	for benchmark in mixing judge stats steering api "engine open" "engine batched" "engine loop build/smoke" "explorer build/smoke/html" "wall build/smoke/html"; do \
	  echo "== $$benchmark"; $(BIN)/python -m benchmarks.$$benchmark || exit 1; done

inspect: $(INSPECT)  ## Add inspect_ai to the environment, to ask models through it

llama: $(LLAMA)  ## Add llama.cpp's server to the environment, to run quantised models on this machine

lock: $(ENV)  ## Refresh requirements/lock.txt, and inspect_ai's lock file beside it
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --custom-compile-command "make lock" $(REQUIREMENTS) requirements/llama/llama.in --output-file requirements/lock.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --custom-compile-command "make lock" --constraint requirements/lock.txt \
	  --override requirements/inspect/overrides.txt requirements/inspect/inspect.in \
	  --output-file requirements/inspect/lock.txt

serve: book  ## Build the report, serve it on http://127.0.0.1:8000 (PORT=) and open it
	@echo "The book is at http://127.0.0.1:$(PORT) until you press Ctrl-C"
	@(sleep 1; $(BIN)/python -m webbrowser http://127.0.0.1:$(PORT) >/dev/null) &
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory build/html

clean:  ## Remove all that was built, and people's labels (downloads in the user's cache stay)
	rm -rf build

# pip comes first: older ones cannot check hashes that are given in a constraints file. What is
# imported is compiled then: compiling all of it would be half of the time.
$(ENV): requirements/lock.txt requirements/torch-cpu.txt $(REQUIREMENTS) pyproject.toml
	@echo "Installing the environment, once: about two minutes and 2.9 GB"
ifeq ($(BIN),.venv/bin)
	@$(PYTHON) -m venv .venv
endif
	@mkdir -p $(@D)
	@sed -n '/^pip==/,/# via/p' requirements/lock.txt >$(@D)/pip.txt
	@$(BIN)/python -m pip install --quiet --no-compile --require-hashes -r $(@D)/pip.txt
	@$(BIN)/python -m pip install --quiet --no-compile --no-deps --require-hashes -r requirements/torch-cpu.txt 2>/dev/null || \
	  echo "No CPU-only torch in pip's sources: the one of requirements/lock.txt is taken."
	@$(BIN)/python -m pip install --quiet --no-compile --require-hashes -c requirements/lock.txt $(addprefix -r ,$(REQUIREMENTS))
	@$(BIN)/python -m pip install --quiet --no-compile --no-deps --no-build-isolation -e .
	@echo "Fetching the weights of the local models into the user's cache, once: half a minute and 0.9 GB"
	@$(BIN)/python -c "from book._ext.build import fetch_all; fetch_all()" 2>/dev/null || \
	  echo "They could not be fetched; the first build fetches them."
	@touch $@

# Its lock file names lock.txt's packages in the same versions, and what inspect_ai adds to them.
$(INSPECT): $(ENV) requirements/inspect/lock.txt
	@$(BIN)/python -m pip install --quiet --no-compile --no-deps --require-hashes -r requirements/inspect/lock.txt
	@touch $@

$(LLAMA): $(ENV) requirements/llama/llama.in
	@$(BIN)/python -m pip install --quiet --no-compile --require-hashes -c requirements/lock.txt -r requirements/llama/llama.in
	@touch $@
