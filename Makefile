# The AOR study. `make book` builds the report, `make test` tests everything; `make help` lists all.

PROFILE ?= laptop
PYTHON ?= python3
BUILD := build/$(PROFILE)

# A conda environment made from environment.yml is used as it is; otherwise one is made in .venv.
ifneq ($(filter-out base,$(CONDA_DEFAULT_ENV)),)
  BIN := $(CONDA_PREFIX)/bin
  ENV := build/.installed
else
  BIN := .venv/bin
  ENV := .venv/.installed
endif
AOR := $(BIN)/aor
REQUIREMENTS := $(wildcard requirements/*.in)

PARAMS := params/$(PROFILE).yaml
DATA_CODE := $(addprefix aor_lib/,records.py params.py profile.py typed_yaml.py assets.py cache.py whole_file.py workers.py \
  mixing.py hearing.py sound_files.py recordings.py recorded_scene.py design.py rendering.py dataset.py) \
  $(wildcard aor_lib/audio/speech/*.py aor_lib/audio/scenes/*.py aor_lib/audio/scenes/*/*.py)
DATA_PARAMS := params/weights.yaml params/histories.yaml $(wildcard params/scenarios/*.yaml params/voices/*.yaml)
VALIDATION_CODE := $(addprefix aor_lib/,validation.py scene_classifier.py emotion_check.py panel/weights/scenes.npz)
RUN_CODE := $(addprefix aor_lib/,inference.py planning.py executors.py store.py store_schema.py \
  provenance.py claims.py scene_classifier.py speaker_classifier.py linear_classifier.py panel/told.py panel/lora.py) \
  $(wildcard aor_lib/models/*.py aor_lib/judge/*.py aor_lib/judge/weights/* aor_lib/panel/weights/*)
STEERING_CODE := $(filter-out %/charts.py,$(wildcard aor_lib/steering/*.py))
BOOK_CODE := $(filter-out aor_lib/cli/% aor_lib/inference/bundles/%,$(wildcard aor_lib/*.py aor_lib/*/*.py))
NOTEBOOKS := $(patsubst notebooks/%,$(BUILD)/notebooks/%,$(wildcard notebooks/*.ipynb))
PAGES := $(wildcard book/*.* book/_static/* book/_ext/*)

.DELETE_ON_ERROR:
.PHONY: help book test data results can-run lock serve clean

help:  ## Show this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  PROFILE=smoke|laptop|full chooses the study (now: $(PROFILE)), as in: make book PROFILE=smoke"

book: can-run $(BUILD)/html/index.html  ## Build the report: build/html/index.html
	ln -sfn $(PROFILE)/html build/html

test: $(ENV)  ## Check style and types, build the smoke report, run all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(MAKE) PROFILE=smoke build/smoke/html/index.html
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses=2 --dist=loadfile --junitxml=build/tests.xml

data: $(BUILD)/validation.parquet  ## Make and validate the stimuli only

results: can-run $(BUILD)/steered  ## Make the stimuli, run the models, judge their answers and steer them

# Before hours are spent on stimuli: has this machine what the profile's models need?
can-run: $(ENV)
	@$(AOR) models list $(PARAMS) >/dev/null

lock:  ## Refresh requirements/lock.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --custom-compile-command "make lock" $(REQUIREMENTS) --output-file requirements/lock.txt

serve: book  ## Build the report and serve it on http://127.0.0.1:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/html 8000

clean:  ## Remove everything that was built (downloads in the user's cache stay)
	rm -rf build

$(BUILD)/manifest.parquet: $(PARAMS) $(DATA_PARAMS) $(DATA_CODE) | $(ENV)
	$(AOR) data $(PARAMS)

$(BUILD)/validation.parquet: $(BUILD)/manifest.parquet $(VALIDATION_CODE)
	$(AOR) validate $(PARAMS)

$(BUILD)/judged: $(BUILD)/validation.parquet $(wildcard params/models/*.yaml params/prompts/*.yaml params/judges/*) $(RUN_CODE)
	$(AOR) run $(PARAMS)
	$(AOR) judge $(PARAMS)
	touch $@

$(BUILD)/steered: $(BUILD)/judged $(STEERING_CODE)
	$(AOR) steer $(PARAMS)
	touch $@

$(BUILD)/notebooks/%.ipynb: notebooks/%.ipynb $(BUILD)/steered $(BOOK_CODE)
	@mkdir -p $(@D)
	$(BIN)/papermill --no-progress-bar --log-level WARNING --cwd . $< $@ \
	  -p build $(BUILD) -p clip_url clips $(MORE_PARAMETERS)

# The book's explorer needs no kernel; its data are written beside the clips.
$(BUILD)/notebooks/explorer.ipynb: MORE_PARAMETERS := -p live False

$(BUILD)/notebooks/data_card.ipynb: aor_lib/stimuli/export/data_card.md
$(BUILD)/notebooks/models.ipynb: $(wildcard params/models/*.yaml)

# What people heard is shown as soon as they have said it.
$(addprefix $(BUILD)/notebooks/,listen.ipynb label_answers.ipynb): $(wildcard $(BUILD)/labels.sqlite)

# Notebooks do not depend on each other, so two are executed at a time.
$(BUILD)/html/index.html: $(BUILD)/steered $(wildcard notebooks/*.ipynb) $(BOOK_CODE) $(PAGES) params/web_assets.yaml
	$(MAKE) --no-print-directory --jobs=2 $(NOTEBOOKS)
	rm -rf $(BUILD)/book $(BUILD)/html
	cp -R book $(BUILD)/book
	cp $(NOTEBOOKS) $(BUILD)/book
	$(BIN)/jupyter-book build -W --keep-going --quiet $(BUILD)/book
	$(AOR) assets params/web_assets.yaml --into $(BUILD)/book/_build/html/_static/vendor
	cp -R $(BUILD)/clips $(BUILD)/explorer $(BUILD)/book/_build/html
	mv $(BUILD)/book/_build/html $(BUILD)/html

# pip comes first: older ones cannot check hashes that are given in a constraints file.
$(ENV): requirements/lock.txt requirements/torch-cpu.txt $(REQUIREMENTS) pyproject.toml
ifeq ($(BIN),.venv/bin)
	$(PYTHON) -m venv .venv
endif
	@mkdir -p $(@D)
	sed -n '/^pip==/,/# via/p' requirements/lock.txt >$(@D)/pip.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r $(@D)/pip.txt
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements/torch-cpu.txt 2>/dev/null || \
	  echo "No CPU-only torch in pip's sources: the one of requirements/lock.txt is taken."
	$(BIN)/python -m pip install --quiet --require-hashes -c requirements/lock.txt $(addprefix -r ,$(REQUIREMENTS))
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@
