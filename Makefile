# Each target does all of its own set-up in $(VENV), from nothing; the second time it is quick.
PYTHON ?= python3
VENV ?= .venv
EXTRA ?= dev
BIN := $(VENV)/bin
# What Python compiles is kept: the tests start some eighty Pythons, and rewrite their own asserts.
export PYTHONDONTWRITEBYTECODE =
READY := $(VENV)/.ready
TENSORFLOWS ?= 2.16 2.18 2.20 2.21
# Their oldest Keras calls what JAX no longer has.
WITHOUT_JAX := 2.16 2.18
NIGHTLY ?= .venv-keras-nightly
PYTORCH ?= .venv-pytorch

.PHONY: demo test test-whole test-long check docs test-matrix test-nightly test-gpu benchmarks screenshots build test-release clean

demo: $(READY)
	$(BIN)/keras-perf demo

test: $(READY)
	$(BIN)/python -m pytest -n 2

# And whole programs, clusters, browsers and notebooks: all that has to hold before a change lands.
test-whole: $(READY)
	$(BIN)/python -m pytest -n 2 -m "not long"

# What shows again, in another way, what make test-whole has shown; other examples than make test draws;
# the first promise on many more programs; pipelines rewritten; times judged on a busy machine and on a slow one.
test-long: $(READY)
	$(BIN)/python -m pytest -n 2 -m long
	$(BIN)/python -m pytest -n 2 tests/unit --hypothesis-profile=others
	KERAS_PERF_DRAWS=500 $(BIN)/python -m pytest tests/fit/promises/test_training_is_unchanged.py
	KERAS_PERF_DRAWS=100 KERAS_BACKEND=jax CUDA_VISIBLE_DEVICES= $(BIN)/python -m pytest \
	  tests/fit/promises/test_training_is_unchanged.py -k no_program
	KERAS_PERF_DRAWS=300 $(BIN)/python -m pytest tests/trials/rewriting/test_drawn_pipelines.py \
	  --hypothesis-profile=others
	$(BIN)/python tests/under_load.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --config setup.cfg

# Warnings are errors. The pages are then in build/docs.
docs: $(READY)
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	$(BIN)/python -m sphinx -q -W --keep-going docs build/docs

# The pictures in docs/ of the Performance tab, as it looks now.
screenshots: $(READY)
	$(BIN)/python docs/screenshots.py

build: $(READY)
	rm -rf dist
	$(BIN)/python -m build

# The wheel in an empty environment outside the repository. FRESH=--with-dependencies installs
# TensorFlow and the rest there, too.
test-release: build
	$(BIN)/python tests/use_release.py dist $(FRESH)

# Each TensorFlow with the oldest Keras that is declared to work with it, and JAX where that Keras knows
# it, in an environment of its own; a version that fails keeps none of the others from being tested.
# `make test-whole` has the newest. Keras's nightly comes last, and what it breaks is a warning.
test-matrix:
	@failed=; \
	for version in $(TENSORFLOWS); do \
	  case " $(WITHOUT_JAX) " in *" $$version "*) extra=test;; *) extra=test,jax;; esac; \
	  $(MAKE) test-whole VENV=.venv-tf-$$version EXTRA=$$extra CONSTRAINTS=tests/matrix/tf-$$version.txt \
	    || failed="$$failed $$version"; \
	done; \
	$(MAKE) test-nightly; \
	for version in $(TENSORFLOWS); do \
	  case " $$failed " in *" $$version "*) result=FAILED;; *) result=passed;; esac; \
	  echo "TensorFlow $$version: $$result"; \
	done; \
	test -z "$$failed"

# Keras as it will be: what it breaks may be ours to mend or theirs, so this never fails. It takes
# the place of the Keras that is installed, under the same name.
test-nightly:
	@if $(MAKE) $(NIGHTLY)/.ready VENV=$(NIGHTLY) \
	  && $(NIGHTLY)/bin/python -m pip uninstall --quiet --yes keras keras-nightly \
	  && $(NIGHTLY)/bin/python -m pip install --quiet --pre keras-nightly; \
	then $(NIGHTLY)/bin/python -m pytest -n 2 -m "not long" && result=passed || result="FAILED, which is a warning"; \
	else result="could not be installed, and was not tested"; fi; \
	echo "Keras's nightly: $$result"

# Where there is a GPU: are the figures that are read from it right? What is not installed is skipped.
test-gpu: $(READY)
	@for extra in cuda jax-cuda; do \
	  $(BIN)/python -m pip install --quiet -e ".[$$extra]" || echo "Packages of [$$extra]: not installed"; \
	done
	@$(PYTHON) -m venv $(PYTORCH) && $(PYTORCH)/bin/python -m pip install --quiet torch numpy \
	  || echo "PyTorch, which has CUDA's events: not installed"
	@failed=; \
	$(BIN)/python benchmarks/on_a_gpu/gpu_readings.py || failed=yes; \
	for backend in tensorflow jax; do \
	  PYTORCH_PYTHON="$(CURDIR)/$(PYTORCH)/bin/python" KERAS_BACKEND=$$backend $(BIN)/python benchmarks/on_a_gpu/gpu_training.py || test $$? = 77 || failed=yes; \
	done; \
	test -z "$$failed"

# An hour or two on a machine that does nothing else; ONLY=overhead,split runs these. What they find is
# kept in benchmarks/results/, and the figures of the documentation are written from it.
benchmarks: $(READY)
	$(BIN)/python benchmarks/all.py $(if $(ONLY),--only $(ONLY))

$(READY): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -e '.[$(EXTRA)]'
	touch $@

clean:
	rm -rf .venv .venv-tf-* $(NIGHTLY) $(PYTORCH) build dist *.egg-info
