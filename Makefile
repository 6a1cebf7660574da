# SPDX-License-Identifier: Apache-2.0
# Hand-written, not recursive. `make help` lists the targets; `make V=1` shows the commands.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

BUILD ?= build
Q := $(if $(V),,@)

# These targets run before anything is configured or installed; they call make again for the rest.
ALONE := help deps demo check bench asan tsan format clean distclean dist tidy-deps
ifneq ($(filter-out $(ALONE),$(or $(MAKECMDGOALS),all)),)
include config.mk
endif

config.mk: config.mk.in configure
	@echo "configure: looking for compilers and libraries (log: config.log)"
	$(Q)./configure --quiet
configure: configure.ac
	@command -v autoconf >/dev/null || { echo "autoconf is missing: run 'make deps' first" >&2; exit 1; }
	$(Q)autoconf -o $@ $<

# ---- flags -----------------------------------------------------------------------------------------------
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor $(WERROR)
HARDENING := -fstack-protector-strong -fPIC $(if $(SANITIZE),,-D_FORTIFY_SOURCE=2)
ALL_CXXFLAGS = -std=c++20 $(WARNINGS) $(HARDENING) $(CXXFLAGS) $(SANITIZE)
ALL_CPPFLAGS = -I. -D_GNU_SOURCE -DDISTINIT_VERSION='"$(VERSION)"' $(CPPFLAGS)
ALL_LDFLAGS = -Wl,-z,relro,-z,now,--as-needed $(LDFLAGS) $(SANITIZE)
# The plugin is loaded into other people's daemons: nothing but libc may be needed, and only Slurm's own
# symbols may be left open, so it is bound lazily.
PLUGIN_CXXFLAGS = -fno-exceptions -fno-rtti -fvisibility=hidden
PLUGIN_LDFLAGS = -shared -static-libstdc++ -static-libgcc -Wl,-z,relro,--as-needed,--exclude-libs,ALL \
                 -Wl,--version-script=spank/export.map $(LDFLAGS) $(SANITIZE)

# ---- rooms -----------------------------------------------------------------------------------------------
ROOMS := base spec slurm store rendezvous env
# What each room may use, nearest first (design: arrows run one way). Also the link order.
USES_base :=
USES_spec := base
USES_slurm := base
USES_store := base
USES_rendezvous := store slurm spec base
USES_env := slurm spec base

room_lib = $(BUILD)/lib$(1)-room.a
objects = $(patsubst %.cc,$(BUILD)/obj/%.o,$(1))

define room_rules
$(call room_lib,$(1)): $(call objects,$(sort $(wildcard lib/$(1)/*.cc)))
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$^
endef
$(foreach room,$(ROOMS),$(eval $(call room_rules,$(room))))

HELPER_SOURCES := $(filter-out helper/stage%.cc,$(sort $(wildcard helper/*.cc)))
STAGE_SOURCES := $(sort $(wildcard helper/stage*.cc))
SPANK_SOURCES := $(filter-out spank/launch_%.cc,$(sort $(wildcard spank/*.cc))) spank/launch_$(SPANK_LAUNCH).cc
HELPER_ROOMS := $(foreach room,env rendezvous store slurm spec base,$(call room_lib,$(room)))
PLUGIN_ROOMS := $(foreach room,slurm spec base,$(call room_lib,$(room)))

all: $(BUILD)/distinit $(BUILD)/distinit-stage $(BUILD)/distinit.so

$(BUILD)/obj/%.o: %.cc config.mk
	@mkdir -p $(@D)
	@echo "  CXX $<"
	$(Q)$(CXX) $(ALL_CPPFLAGS) $(ALL_CXXFLAGS) $(EXTRA_CXXFLAGS) -MMD -MP -c -o $@ $<

# hooks.cc is the one place that catches what the rooms might throw (bad_alloc).
$(call objects,$(filter-out spank/hooks.cc,$(sort $(wildcard spank/*.cc)))): EXTRA_CXXFLAGS = $(PLUGIN_CXXFLAGS)
$(call objects,spank/hooks.cc): EXTRA_CXXFLAGS = -fvisibility=hidden

$(BUILD)/distinit: $(call objects,$(HELPER_SOURCES)) $(HELPER_ROOMS)
	@echo "  LD  $@"
	$(Q)$(CXX) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(HELPER_ROOMS) -lfmt -lsodium

# Static: it runs inside containers that have neither our files nor our libc. Never sanitized: asan has no
# static runtime.
$(BUILD)/distinit-stage: $(patsubst %.cc,$(BUILD)/stage/%.o,$(STAGE_SOURCES) $(sort $(wildcard lib/base/*.cc)) lib/spec/protocol.cc)
	@echo "  LD  $@"
	$(Q)$(CXX) -static -Wl,-z,relro,-z,now,--gc-sections -s $(LDFLAGS) -o $@ $(filter %.o,$^)
$(BUILD)/stage/%.o: %.cc config.mk
	@mkdir -p $(@D)
	@echo "  CXX $< (static)"
	$(Q)$(CXX) $(ALL_CPPFLAGS) -std=c++20 $(WARNINGS) -Os -fstack-protector-strong -fno-exceptions -fno-rtti \
	  -ffunction-sections -fdata-sections -MMD -MP -c -o $@ $<

$(BUILD)/distinit.so: $(call objects,$(SPANK_SOURCES)) $(PLUGIN_ROOMS) spank/export.map
	@echo "  LD  $@"
	$(Q)$(CXX) $(PLUGIN_LDFLAGS) -o $@ $(filter %.o,$^) $(PLUGIN_ROOMS)

# ---- tests -----------------------------------------------------------------------------------------------
UNIT_TESTS := $(foreach room,$(ROOMS),$(if $(wildcard tests/unit/$(room)/*.cc),$(BUILD)/tests/unit-$(room)))
SPANK_TEST := $(if $(wildcard tests/spank/*.cc),$(BUILD)/tests/spank)

define unit_rules
$(BUILD)/tests/unit-$(1): $(call objects,$(sort $(wildcard tests/unit/$(1)/*.cc))) \
    $(foreach room,$(1) $(USES_$(1)),$(call room_lib,$(room)))
	@mkdir -p $$(@D)
	@echo "  LD  $$@"
	$$(Q)$$(CXX) $$(ALL_LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) -lcriterion -lsodium -lpthread
endef
$(foreach room,$(ROOMS),$(eval $(call unit_rules,$(room))))

# The plugin's own sources with a fake SPANK host instead of Slurm's (spank_host.cc and hooks.cc stay out); both
# ways of getting in front of argv are compiled in.
SPANK_TEST_SOURCES := $(filter-out spank/hooks.cc spank/spank_host.cc spank/launch_prepend.cc,$(sort $(wildcard spank/*.cc)))
$(BUILD)/tests/spank: $(call objects,$(sort $(wildcard tests/spank/*.cc)) $(SPANK_TEST_SOURCES)) $(PLUGIN_ROOMS)
	@mkdir -p $(@D)
	@echo "  LD  $@"
	$(Q)$(CXX) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(PLUGIN_ROOMS) -lcriterion -lpthread

-include $(shell find $(BUILD)/obj $(BUILD)/stage -name '*.d' 2>/dev/null)
