# Each target does all of its own set-up in $(VENV), from nothing; the second time it is quick.
PYTHON ?= python3
VENV ?= .venv
EXTRA ?= dev
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-long check test-matrix test-gpu build clean

demo: $(READY)
	$(BIN)/keras-perf demo

test: $(READY)
	$(BIN)/python -m pytest -n 2

# The same promises on many more programs, drawn at random, and times judged on a busy machine.
test-long: $(READY)
	KERAS_PERF_DRAWS=500 $(BIN)/python -m pytest tests/fit/test_training_is_unchanged.py
	$(BIN)/python tests/under_load.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --config setup.cfg

build: $(READY)
	$(BIN)/python -m build

# The lowest and the newest TensorFlow, each in an environment of its own.
test-matrix:
	$(MAKE) test VENV=.venv-lowest CONSTRAINTS=tests/lowest.txt
	$(MAKE) test VENV=.venv-newest PIP_FLAGS=--upgrade

# Where there is a GPU: are the figures that are read from it right?
test-gpu: $(READY)
	$(BIN)/python -m pip install --quiet -e '.[cuda]'
	$(BIN)/python benchmarks/gpu_readings.py

$(READY): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(PIP_FLAGS) $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -e '.[$(EXTRA)]'
	touch $@

clean:
	rm -rf .venv .venv-lowest .venv-newest build dist *.egg-info
