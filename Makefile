# Warploom's targets. Each sets up what it needs by itself; `make help` lists them.
# A target's comment after `##` is its line there.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SETUP := scripts/bootstrap.sh
BIN := .venv/bin

# Options of `warploom sim`, handed on when set: KILL_EVERY=3 is --kill-every 3. A test holds the
# lists to the fields of ReplayRequest.
VALUES := SIM CONFIG POLICY RECLAIM TIME_SCALE CONTENTION KNEE ARRIVALS EVENTS ALLOCATOR \
    KILL_EVERY LAUNCHES SEED DEVICE GPU HOST WAVE_CYCLES JSON LAUNCHES_CSV TIMELINE REPORT
FLAGS := STRICT WAVES
OPTIONS := $(VALUES) $(FLAGS) SET PRIORITY TRACE CHECK SEEDS ARGS TINY_GPU BOARD
# The simulators' own makefiles and cocotb read variables of the same names: ours stay here.
unexport $(OPTIONS)

# Variables that go to the programs as they are.
SETTINGS := PYTHON WARPLOOM_BUILD WARPLOOM_KEEP_BUILDS
# Variables given on the command line that no target reads: refused, with the nearest name.
GIVEN := $(foreach v,$(.VARIABLES),$(if $(findstring command line,$(origin $(v))),$(v)))
UNKNOWN := $(firstword $(filter-out $(OPTIONS) $(SETTINGS) -*-%,$(GIVEN)))
NEAREST = $(shell python3 -c 'import difflib, sys; \
    print(difflib.get_close_matches(sys.argv[1].upper(), sys.argv[2:], 1, 0)[0])' \
    $(UNKNOWN) $(OPTIONS) $(SETTINGS))
$(if $(UNKNOWN),$(error variable $(UNKNOWN) is unknown; the nearest is $(NEAREST) (make help \
    lists all)))

# One word for the shell, whatever is in it.
quoted = '$(subst ','\'',$(1))'
option = $(if $($(1)),--$(2) $(call quoted,$($(1))))
# For pytest, which looks for files before it knows the option: a second word would be one of them.
seed = $(if $(SEED),--seed=$(call quoted,$(SEED)))
flag = $(shell printf %s $(name) | tr A-Z_ a-z-)
VERILOG_OPTIONS = $(foreach name,CONFIG POLICY RECLAIM,$(call option,$(name),$(flag))) \
    $(foreach field,$(SET),--set $(call quoted,$(field)))
SIM_OPTIONS = $(foreach name,$(VALUES),$(if $($(name)),$(call option,$(name),$(flag)))) \
    $(foreach field,$(SET),--set $(call quoted,$(field))) \
    $(foreach one,$(PRIORITY),--priority $(call quoted,$(one))) \
    $(foreach name,$(FLAGS),$(if $(filter-out 0,$($(name))),--$(flag)))

.PHONY: help sim verilog wheel docs synth test-synth formal formal-negative mutate coverage figures bench run-kernels soc fpga beside-streams foreign lint types models \
    test test-all test-rest test-deep test-seeds exhaustive setup clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Options: make sim [TRACE=FILE] [SET='sms=4 block_slots=16'] [PRIORITY='1=3 2=1'] [ARGS=...], and any of these;"
	@echo "  make sim ARGS=--help has their values: KILL_EVERY=3 is --kill-every 3, WAVES=1 is --waves"
	@echo "$(addsuffix =...,$(VALUES)) $(addsuffix =1,$(FLAGS))" | fold -s -w 94 | sed 's/^/  /'
	@echo "  make synth [CHECK=1] [ARGS=...]; CHECK=1 fails if the committed figures are stale"
	@echo "  make figures [CHECK=1] [ARGS=grid_walker]; CHECK=1 fails if a figure is of other hardware"
	@echo "  make test-seeds [SEEDS=50] [SEED=N] [ARGS=tb/index]"
	@echo "  make verilog|formal|bench|mutate|coverage|test|test-all|test-deep [ARGS=...]; make sim ARGS=--help says more"
	@echo "  WARPLOOM_BUILD=FOLDER builds there, not in build/"
	@echo "  WARPLOOM_KEEP_BUILDS=N keeps the newest N folders of each kind under build/"
	@echo "  TRACE is one file, blanks in its name or not; several: make sim ARGS='a.json b.json'"

sim:  ## Replay kernel-launch traces through the RTL, every dispatch compared with the model
	@$(SETUP) sim $(if $(TIMELINE)$(REPORT),report) $(if $(filter icarus,$(SIM)),icarus,verilator)
	@$(BIN)/warploom sim $(SIM_OPTIONS) $(ARGS) $(if $(TRACE),$(call quoted,$(TRACE)))

verilog:  ## Write build/verilog/<preset>/<block>.v: every block and preset, or those of CONFIG=
	@$(SETUP) sim
	@$(BIN)/warploom verilog $(VERILOG_OPTIONS) $(ARGS)

wheel:  ## Build dist/warploom-VERSION-py3-none-any.whl, and check it as an index does
	@$(SETUP) sim dev
	@$(BIN)/python -m build --wheel --no-isolation $(ARGS)
	@$(BIN)/python -m twine check --strict dist/*.whl

# Material says on every build that a successor exists: decision 5 has it.
docs:  ## Build the site of the pages, build/site/index.html; it needs no other server
	@$(SETUP) sim docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict $(ARGS)

synth:  ## Measure area and clock rate on an ECP5 against the committed figures
	@$(SETUP) sim fpga
	@$(BIN)/python -m warploom_dev synth $(if $(filter-out 0,$(CHECK)),--check) $(ARGS)

formal:  ## Prove what must hold of the blocks, and reach its interesting cases
	@$(SETUP) sim formal
	@$(BIN)/python -m warploom_dev formal $(ARGS)

formal-negative:  ## Find the seeded bug of every property
	@$(SETUP) sim formal
	@$(BIN)/python -m warploom_dev formal --negative $(ARGS)

test-synth:  ## Tests of what `make synth` and `make mutate` measure with, on small designs
	@$(SETUP) sim dev fpga verilator cocotb
	$(BIN)/pytest -n 2 -m fpga tb/tools/test_synth_flow.py tb/tools/test_bitstream.py tb/tools/test_mutate.py $(ARGS)

mutate:  ## Change each block's netlist bit by bit: does its bench notice?
	@$(SETUP) sim dev fpga verilator cocotb
	@$(BIN)/python -m warploom_dev mutate $(ARGS)

coverage:  ## Branches and toggles of the RTL that `make test-all` reaches; fails below 90 %
	@$(SETUP) sim dev icarus verilator cocotb
	@$(BIN)/python -m warploom_dev coverage $(ARGS)

figures:  ## Mark the committed figures whose hardware has changed since; CHECK=1 fails for them
	@$(SETUP) sim dev cocotb
	@$(BIN)/python -m warploom_dev figures $(if $(filter-out 0,$(CHECK)),--check) $(ARGS)

bench:  ## Measure cycles a second on each simulator, and the golden models' and the import's speed
	@$(SETUP) sim icarus verilator cocotb
	@$(BIN)/python -m warploom_dev bench $(ARGS)

run-kernels:  ## Run compiled kernels on SimtCores behind FrontEnd: build/kernels.json
	@$(SETUP) sim dev elf verilator cocotb
	@PYTHONPATH=$(CURDIR):$(CURDIR)/examples $(BIN)/python -m tb.examples.run_kernels $(ARGS)

soc:  ## Run a soft core that launches kernels, in LiteX on Verilator
	@$(SETUP) sim elf soc verilator
	@PYTHONPATH=$(CURDIR)/examples $(BIN)/python -m soc $(ARGS)

fpga:  ## Build the soft core's system for a board, BOARD=ulx3s: bitstream, area, clock
	@$(SETUP) sim elf fpga soc
	@PYTHONPATH=$(CURDIR)/examples $(BIN)/python -m soc.fpga $(call option,BOARD,board) $(ARGS)

beside-streams:  ## Measure a merged kernel beside streams on SimtCores, and draw it; ARGS=--draw draws alone
	@$(SETUP) sim dev elf report verilator cocotb
	@PYTHONPATH=$(CURDIR):$(CURDIR)/examples $(BIN)/python -m tb.examples.beside_figures $(ARGS)

foreign:  ## Run the cores of your own checkout of tiny-gpu behind FrontEnd: TINY_GPU=FOLDER
	$(if $(TINY_GPU),,$(error foreign needs TINY_GPU=FOLDER, your own checkout of tiny-gpu))
	@$(SETUP) sim verilator
	@PYTHONPATH=$(CURDIR)/examples $(BIN)/python -m foreign_cores $(call quoted,$(TINY_GPU))

lint:  ## Check style, docstrings and the direction of imports (ruff)
	@$(SETUP) sim dev
	$(BIN)/ruff check
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/ruff format --check --quiet || { echo "lint: .venv/bin/ruff format puts these right"; exit 1; }

types:  ## Check types, strictly (mypy)
	@$(SETUP) sim dev
	$(BIN)/mypy

# Half a minute each time the models change; each of two test processes would do it for itself.
models:  ## Compile the models' inner loops, once for all that runs them
	@$(SETUP) sim dev
	$(BIN)/python -m tb.merging.compile_models

test:  ## Lint, types, and the default tests: ten minutes on two cores
	@$(SETUP) sim dev report compare elf formal docs icarus verilator cocotb
	@$(MAKE) --no-print-directory -j 2 lint types models
	$(BIN)/pytest -n 2 $(seed) $(ARGS)

# Here a default test that takes too long fails.
test-all:  ## `make test`, then on every other simulator, start and configuration: forty minutes
	@$(MAKE) --no-print-directory test ARGS=$(call quoted,--slow-fails $(ARGS))
	@$(MAKE) --no-print-directory test-rest

test-rest:  ## What `make test-all` runs beyond `make test`: the tests marked thorough
	@$(SETUP) sim dev report compare elf formal docs soc icarus verilator cocotb
	$(BIN)/pytest -n 2 -m 'thorough and not deep and not fpga' $(seed) $(ARGS)

test-deep:  ## The tests that take minutes and that `make test-all` leaves out
	@$(SETUP) sim dev report compare elf formal docs soc icarus verilator cocotb
	$(BIN)/pytest -n 2 -m deep $(seed) $(ARGS)

test-seeds:  ## Every default test with random stimulus, with SEEDS seeds each (hours)
	@$(SETUP) sim dev report compare elf formal docs soc icarus verilator cocotb
	$(BIN)/pytest -n 2 --seeds=$(or $(SEEDS),50) $(seed) $(ARGS)

exhaustive:  ## Every index of every legal block shape at W = 32, model and RTL (minutes)
	@$(SETUP) sim dev verilator cocotb
	$(BIN)/pytest -m deep tb/index/test_exhaustive_index.py $(seed) $(ARGS)

setup:  ## Only set up: .venv, locked packages, simulators
	@$(SETUP) sim dev report compare elf docs icarus verilator cocotb

clean:  ## Remove what was built; .venv stays
	rm -rf build dist .pytest_cache .hypothesis
	find . -path ./.venv -prune -o -type d \( -name __pycache__ -o -name .ruff_cache -o -name .mypy_cache \) -prune -exec rm -rf {} +
