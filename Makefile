# make demo    the whole chain on FreeRTOS: build, capture, characterize, estimate
# make test    the tests
# make test-long  the tests that take too long for every change: every window of the larger configurations
#              against a second count, each instruction and access of long calls damaged in turn, interrupts
#              at every place, every access against QEMU's register dumps, every masked stretch of a run,
#              each instruction of a run on the board in RTL against its price, a thousand random programs'
#              path models against runs with every input
# make validate  FreeRTOS on boards in RTL, every service measured, against its published figures and bounds
# make fit     a profile that fits itself: micro-benchmarks on a board in RTL, then FreeRTOS against it;
#              FITTED=b (slow flash, cold and warm), c (one memory at half the clock, write buffer), d (b, and a
#              data cache), d-posted (d, whose writes go on behind the core), a-shared (a second master)
# make campaign  every board and configuration of FreeRTOS
# make lint    ruff, mypy --strict, import contracts
# make docs    the documentation as a site in build/site; a warning is an error
# make bench   speeds and sizes as ratios, each taken in one run; some two hours on two cores, nearly all of them
#              for the FreeRTOS matrix (the bench.py of its recipe takes names of groups: only these)
#
# Each installs what it needs (Debian packages, a virtual environment in .venv).

BUILD := build
# Of the boards in RTL, and of these what `make test` needs.
CORES := imc imac imac-cached cynthion
TEST_CORES := imc imac-cached
VENV := .venv
BIN := $(VENV)/bin
FIRMWARE := $(BUILD)/firmware/freertos/freertos.elf
DEMO := $(BUILD)/demo
SUITE := rtos_tests/freertos
PROFILES := zero-wait-sram flash-3ws external-16bit
JOBS ?= $(shell nproc)

.PHONY: demo test test-long lint docs bench system firmware clean
.DELETE_ON_ERROR:

demo: system $(VENV)/.installed
	@status=$$($(MAKE) -s -C $(SUITE) kernel-status | tail -n 1); \
	if [ "$$status" = 5 ]; then \
		echo "Without the FreeRTOS source, the published example of the founding paper:"; \
		$(BIN)/wcetchar demo; \
	else \
		$(MAKE) --no-print-directory freertos-demo; \
	fi

# Prices every service on every profile; each profile has its section map beside it.
ON_ALL := $(foreach p,$(PROFILES),--profile cortex-m3/$(p) --map cortex-m3/map-$(p))
ESTIMATE := $(BIN)/wcetchar estimate $(DEMO)/freertos.json $(ON_ALL)

.PHONY: freertos-demo
freertos-demo: firmware $(DEMO)/freertos.json
	@$(ESTIMATE) --maximum --format json -o $(DEMO)/estimates.json
	@$(ESTIMATE) --maximum --format csv -o $(DEMO)/estimates.csv
	@$(ESTIMATE) --maximum --format markdown -o $(DEMO)/estimates.md
	@$(ESTIMATE) --maximum -o $(DEMO)/estimates.txt
	@$(ESTIMATE) --service xTaskCreate --set N=13
	@$(ESTIMATE) --maximum --format summary
	@echo "$(DEMO)/ has the trace, the characterization and every table, also as JSON, CSV and text"

# What is made again when wcetchar itself changes.
CAPTURE_CODE := $(wildcard wcetchar/capture/*.py wcetchar/capture/plugin/*.c)
ANALYSIS_CODE := $(wildcard $(patsubst %,wcetchar/%/*.py,analysis counting formula image isa model readers store))

SERVICES := $(addprefix $(SUITE)/,services.yaml config/basic.yaml boards/mps2-an385/image.yaml)
$(DEMO)/freertos.json: $(DEMO)/freertos.trace $(SERVICES) $(ANALYSIS_CODE)
	$(BIN)/wcetchar characterize $(FIRMWARE) $< $(addprefix --services ,$(SERVICES)) -o $@

$(DEMO)/freertos.trace: $(FIRMWARE) $(CAPTURE_CODE)
	@mkdir -p $(@D)
	$(BIN)/wcetchar capture $< --machine mps2-an385 -o $@

# Every board and configuration; what did not change is not made again.
.PHONY: campaign
campaign: firmware $(VENV)/.installed
	@mkdir -p $(BUILD)
	$(BIN)/wcetchar campaign $(SUITE)/campaign.yaml -o $(BUILD)/campaign --jobs $(JOBS)

firmware: system
	@$(MAKE) -s -C $(SUITE)
$(FIRMWARE): | firmware

test: system $(VENV)/.installed
	@$(MAKE) -s -C $(SUITE) all check-elf && $(MAKE) -s -C $(SUITE) BOARD=virt && \
		$(MAKE) -s -C $(SUITE) BOARD=versatilepb && \
		$(MAKE) -s -C $(SUITE) BOARD=versatilepb-thumb || \
		echo "tests that need the firmware will be skipped"
	@$(MAKE) -s -C rtl_boards CORE="$(TEST_CORES)" PYTHON=$(abspath $(BIN)/python) BUILD=$(abspath $(BUILD))/rtl || \
		echo "tests that need the board in RTL will be skipped"
	@scripts/viewers.sh || echo "tests that need speedscope's schema will be skipped"
	@scripts/editors.sh || echo "tests that need the YAML language server will be skipped"
	$(BIN)/pytest -n $(JOBS) --dist loadgroup

BOARDS := mps2-an385 mps2-an386 virt versatilepb versatilepb-thumb
test-long: system $(VENV)/.installed
	@$(MAKE) -s -C $(SUITE) all check-elf && for board in $(BOARDS); do for config in basic full whole timers watch; do \
		$(MAKE) -s -C $(SUITE) BOARD=$$board CONFIG=$$config || exit; done; done && \
		for board in mps2-an385 mps2-an386; do \
		$(MAKE) -s -C $(SUITE) BOARD=$$board CONFIG=tickless || exit; done || \
		echo "tests that need the firmware will be skipped"
	@$(MAKE) -s -C rtl_boards CORE="$(CORES)" PYTHON=$(abspath $(BIN)/python) BUILD=$(abspath $(BUILD))/rtl || \
		echo "tests that need the board in RTL will be skipped"
	$(BIN)/pytest -n $(JOBS) --dist loadgroup -m long

# FreeRTOS on the boards in RTL against its published figures, and against its bounds.
OVER_ALL_PATHS := $(foreach state,A~ideal B~ideal C~ideal A~cold B~cold C~cold,\
	--only "imc, board $(word 1,$(subst ~, ,$(state))), caches $(word 2,$(subst ~, ,$(state)))") \
	--only "imac, board D, caches ideal" \
	--only "imac-cached, board D, caches ideal; as if no load hit"
.PHONY: validate
validate: system $(VENV)/.installed
	$(MAKE) -s -C rtl_boards CORE="$(CORES)" PYTHON=$(abspath $(BIN)/python) \
		BUILD=$(abspath $(BUILD))/rtl
	$(BIN)/python rtl_boards/validate.py --write docs/reference/rtl-validation.md
	$(BIN)/python rtl_boards/validate.py --config basic --runs 1 --paths $(OVER_ALL_PATHS)

# A hardware profile fitted to micro-benchmarks on a board, and FreeRTOS held against it.
FITTED := a
.PHONY: fit
fit: system $(VENV)/.installed
	$(MAKE) -s -C rtl_boards CORE="$(TEST_CORES)" PYTHON=$(abspath $(BIN)/python) BUILD=$(abspath $(BUILD))/rtl
	$(BIN)/python rtl_boards/fit.py --board $(FITTED)

lint: system $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: system $(VENV)/.docs
	$(BIN)/sphinx-build -q -W --keep-going -b html -c docs . $(BUILD)/site
	@echo "the pages: $(BUILD)/site/docs/site.html"

bench: system $(VENV)/.installed firmware
	$(BIN)/python tests/benchmarks/bench.py

system:
	@scripts/install_system.sh

$(VENV)/.installed: setup.cfg pyproject.toml constraints.txt | system
	python3 -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

clean:
	rm -rf $(BUILD) $(VENV)
