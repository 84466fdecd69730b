# Characterize a firmware, derive its section map and estimate, from a Makefile.
#
#   WCETCHAR_ELF := build/app.elf          your linker's output, with a rule of yours
#   WCETCHAR_MACHINE := mps2-an385         emulated machine (wcetchar capture --machine)
#   WCETCHAR_SERVICES := services.yaml     services files, read as one
#   WCETCHAR_PROFILE := board.yaml         hardware profile, by path or by shipped name
#   include .../wcetchar.mk
#
# then
#
#   make wcet-characterize    what each service does to memory: $(WCETCHAR_OUT)/kernel.json
#   make wcet-map             where its sections lie: $(WCETCHAR_OUT)/map.yaml
#   make wcet-estimate        prints what it takes, and writes $(WCETCHAR_OUT)/estimates.json
#   make wcet-report          an interactive page, $(WCETCHAR_OUT)/report.html
#   make wcet-check           ends with an error where a service takes more than WCETCHAR_BUDGET says
#
# Optional:
#
#   WCETCHAR_CHARACTERIZATION := kernel.json   a vendor's, by path or by shipped name; then no machine is emulated
#   WCETCHAR_MAP := map.yaml                   a section map by hand or a shipped one; else it is derived
#   WCETCHAR_LINKER_MAP := build/app.map       for names that the ELF file lacks
#   WCETCHAR_CAPTURE_OPTIONS, WCETCHAR_CHARACTERIZE_OPTIONS, WCETCHAR_MAP_OPTIONS (--place 'heap=sram'),
#   WCETCHAR_ESTIMATE_OPTIONS (--set N=13; --maximum if not given), WCETCHAR_REPORT_OPTIONS,
#   WCETCHAR_CHECK_OPTIONS (--baseline released.json --junit budgets.xml)
#   WCETCHAR_OUT := build/wcet, WCETCHAR := wcetchar
#
# Files are made again when what they are made from has changed. Each is written whole or not at all.

WCETCHAR ?= wcetchar
WCETCHAR_OUT ?= build/wcet
WCETCHAR_ESTIMATE_OPTIONS ?= --maximum

ifeq ($(strip $(WCETCHAR_CHARACTERIZATION)),)
wcetchar_characterization := $(WCETCHAR_OUT)/kernel.json
else
wcetchar_characterization := $(WCETCHAR_CHARACTERIZATION)
endif
ifeq ($(strip $(WCETCHAR_MAP)),)
wcetchar_map := $(WCETCHAR_OUT)/map.yaml
else
wcetchar_map := $(WCETCHAR_MAP)
endif

# $(call wcetchar_needs,VARIABLE): ends make where it has no value, or the program is not there.
wcetchar_needs = $(if $(strip $($(1))),$(wcetchar_found),$(error $(1) is not set: see the head of wcetchar.mk))
wcetchar_found = $(if $(shell command -v $(firstword $(WCETCHAR)) 2>/dev/null),,$(error there is no program \
	$(firstword $(WCETCHAR)): install wcetchar with pip, or set WCETCHAR to where it is))
# $(call wcetchar_each,OPTION,VALUES)
wcetchar_each = $(foreach value,$(2),$(1) $(value))
# Of files and shipped names, the files: what is there, or has the ending of one, which a rule of yours may make.
wcetchar_files = $(sort $(wildcard $(1)) $(filter %.json %.yaml %.yml,$(1)))

.PHONY: wcet-characterize wcet-map wcet-estimate wcet-report wcet-check
.DELETE_ON_ERROR:

# Of what is made here, and of what is given by path, make looks for the file; a shipped name is none.
wcetchar_made_of = $(call wcetchar_files,$(wcetchar_characterization) $(wcetchar_map) $(WCETCHAR_PROFILE))

wcet-characterize: $(call wcetchar_files,$(wcetchar_characterization))
wcet-map: $(call wcetchar_files,$(wcetchar_map))

$(WCETCHAR_OUT)/kernel.trace: $(WCETCHAR_ELF)
	$(call wcetchar_needs,WCETCHAR_ELF)$(call wcetchar_needs,WCETCHAR_MACHINE)
	@mkdir -p $(@D)
	$(WCETCHAR) capture $(WCETCHAR_ELF) --machine $(WCETCHAR_MACHINE) $(WCETCHAR_CAPTURE_OPTIONS) -o $@

$(WCETCHAR_OUT)/kernel.json: $(WCETCHAR_OUT)/kernel.trace $(call wcetchar_files,$(WCETCHAR_SERVICES))
	$(call wcetchar_needs,WCETCHAR_SERVICES)
	$(WCETCHAR) characterize $(WCETCHAR_ELF) $< $(call wcetchar_each,--services,$(WCETCHAR_SERVICES)) --contents \
		$(WCETCHAR_CHARACTERIZE_OPTIONS) -o $@

$(WCETCHAR_OUT)/map.yaml: $(WCETCHAR_ELF) \
		$(call wcetchar_files,$(wcetchar_characterization) $(WCETCHAR_PROFILE) $(WCETCHAR_SERVICES) $(WCETCHAR_LINKER_MAP))
	$(call wcetchar_needs,WCETCHAR_ELF)$(call wcetchar_needs,WCETCHAR_PROFILE)
	@mkdir -p $(@D)
	$(WCETCHAR) map init $(WCETCHAR_ELF) --characterization $(wcetchar_characterization) \
		--profile $(WCETCHAR_PROFILE) $(call wcetchar_each,--services,$(WCETCHAR_SERVICES)) \
		$(call wcetchar_each,--linker-map,$(WCETCHAR_LINKER_MAP)) $(WCETCHAR_MAP_OPTIONS) -o $@

wcetchar_prices = $(wcetchar_characterization) --profile $(WCETCHAR_PROFILE) --map $(wcetchar_map)

wcet-estimate: $(wcetchar_made_of)
	$(call wcetchar_needs,WCETCHAR_PROFILE)
	@mkdir -p $(WCETCHAR_OUT)
	@$(WCETCHAR) estimate $(wcetchar_prices) $(WCETCHAR_ESTIMATE_OPTIONS) --format json \
		-o $(WCETCHAR_OUT)/estimates.json
	@$(WCETCHAR) estimate $(wcetchar_prices) $(WCETCHAR_ESTIMATE_OPTIONS) --format summary

wcet-report: $(wcetchar_made_of)
	$(call wcetchar_needs,WCETCHAR_PROFILE)
	@mkdir -p $(WCETCHAR_OUT)
	$(WCETCHAR) report $(wcetchar_prices) $(WCETCHAR_REPORT_OPTIONS) -o $(WCETCHAR_OUT)/report.html

# On the hardware, and with the map, that the other targets price on: not on what the budget file names.
wcet-check: $(wcetchar_made_of)
	$(call wcetchar_needs,WCETCHAR_BUDGET)$(call wcetchar_needs,WCETCHAR_PROFILE)
	$(WCETCHAR) check $(wcetchar_prices) --budget $(WCETCHAR_BUDGET) $(WCETCHAR_CHECK_OPTIONS)
