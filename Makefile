# Each target does its own set-up from a bare clone: Python 3.11, git, make and a C++ compiler are enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SOURCES := $(shell find src python/hemiola -name '*.cpp' -o -name '*.hpp') CMakeLists.txt pyproject.toml

.PHONY: demo docs quick lib wheel test test-all check format generate build clean help

help:     ## list the targets
	@grep -E '^[a-z-]+: .*##' Makefile | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 18

demo: $(VENV)/.demo  ## train on 4 local ranks, then time the gradient's all-reduce on an emulated cluster
	$(BIN)/python -m hemiola.demo

quick:    ## a room's tests alone, the quick ones by default: ROOM=planner; on a built core: CORE=wheel
	PYTHON=$(PYTHON) scripts/quick.sh $(ROOM) $(if $(CORE),--core $(CORE))

test: $(VENV)/.test  ## C++ and Python tests, but for the long ones: ten minutes and more on two cores
	scripts/test.sh

test-all: $(VENV)/.test  ## what make test leaves out: C++ under two sanitizers and for ARM64, long Python tests
	scripts/test_all.sh

check: $(VENV)/.test  ## format, lint, types, layer order, words and links of the docs, generated files up to date
	scripts/check.sh

format: $(VENV)/.test  ## rewrite sources in the project's format
	$(BIN)/ruff check --fix-only -q python papers tests benchmarks scripts packaging
	$(BIN)/ruff format -q python papers tests benchmarks scripts packaging
	git ls-files '*.cpp' '*.hpp' | xargs $(BIN)/clang-format -i

docs: $(VENV)/.test  ## build the site into build/docs/site; open its index.html
	$(BIN)/python scripts/site_pages.py build/docs/pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

generate: $(VENV)/.test  ## rewrite what is generated: stubs, tables, public names, the map
	$(BIN)/python scripts/generate.py

build: $(VENV)/.demo  ## build and install into .venv

$(VENV)/.demo: $(SOURCES) scripts/setup.sh
	PYTHON=$(PYTHON) scripts/setup.sh demo
	@touch $@

$(VENV)/.test: $(SOURCES) scripts/setup.sh
	PYTHON=$(PYTHON) scripts/setup.sh demo test test-all docs check
	@touch $(VENV)/.demo $@

lib: $(VENV)/.demo  ## build libhemiola for C and Fortran, and install it into PREFIX, by default dist/c
	build=$$(ls -dt build/cp3*/ | head -n 1) && $(BIN)/cmake --build $$build --target libhemiola && \
	  $(BIN)/cmake --install $$build --component c --prefix $(or $(PREFIX),dist/c)

wheel:    ## build a wheel into dist, as a release does
	[ -x $(BIN)/pip ] || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

clean:    ## remove everything that was built
	rm -rf $(VENV) build dist demo-output
