# SPDX-License-Identifier: Apache-2.0
# Hand-written, not recursive. `make help` lists the targets; `make V=1` shows the commands.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

BUILD ?= build
Q := $(if $(V),,@)

# These targets run before anything is configured or installed; they call make again for the rest.
ALONE := help deps demo check bench asan tsan format format-check clean distclean dist
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
ROOMS := base spec slurm store launch rendezvous topo nccl env
# Libraries that a room needs besides libc and libstdc++; --as-needed drops those that a program does not.
LIBS_topo := -lhwloc -libverbs -lexpat
LIBS_nccl := -ldl
# What each room may use, nearest first (design: arrows run one way). Also the link order.
USES_base :=
USES_spec := base
USES_slurm := base
USES_store := base
USES_launch := spec base
USES_rendezvous := store slurm spec base
USES_topo := base
USES_nccl := store spec base
USES_env := slurm spec base

room_lib = $(BUILD)/lib$(1)-room.a
objects = $(patsubst %.cc,$(BUILD)/obj/%.o,$(1))

define room_rules
$(call room_lib,$(1)): $(call objects,$(sort $(wildcard lib/$(1)/*.cc)))
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$^
endef
$(foreach room,$(ROOMS),$(eval $(call room_rules,$(room))))

HELPER_SOURCES := $(filter-out helper/stage%.cc helper/check_main.cc,$(sort $(wildcard helper/*.cc)))
STAGE_SOURCES := $(sort $(wildcard helper/stage*.cc))
SPANK_SOURCES := $(filter-out spank/launch_%.cc,$(sort $(wildcard spank/*.cc))) spank/launch_$(SPANK_LAUNCH).cc
HELPER_ROOMS := $(foreach room,env rendezvous topo nccl launch store slurm spec base,$(call room_lib,$(room)))
PLUGIN_ROOMS := $(foreach room,launch slurm spec base,$(call room_lib,$(room)))

all: $(BUILD)/distinit $(BUILD)/distinit-stage $(BUILD)/distinit-check $(BUILD)/distinit.so

$(BUILD)/obj/%.o: %.cc config.mk
	@mkdir -p $(@D)
	@echo "  CXX $<"
	$(Q)$(CXX) $(ALL_CPPFLAGS) $(ALL_CXXFLAGS) $(EXTRA_CXXFLAGS) -MMD -MP -c -o $@ $<

# hooks.cc is the one place that catches what the rooms might throw (bad_alloc).
$(call objects,$(filter-out spank/hooks.cc,$(sort $(wildcard spank/*.cc)))): EXTRA_CXXFLAGS = $(PLUGIN_CXXFLAGS)
$(call objects,spank/hooks.cc): EXTRA_CXXFLAGS = -fvisibility=hidden

$(BUILD)/distinit: $(call objects,$(HELPER_SOURCES)) $(HELPER_ROOMS)
	@echo "  LD  $@"
	$(Q)$(CXX) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(HELPER_ROOMS) -lfmt -lsodium $(LIBS_topo)

# A process of its own beside the program, maybe inside a container: nothing but libc is needed there, and
# what it opens by dlopen.
CHECK_ROOMS := $(foreach room,nccl store spec base,$(call room_lib,$(room)))
$(BUILD)/distinit-check: $(call objects,helper/check_main.cc) $(CHECK_ROOMS)
	@echo "  LD  $@"
	$(Q)$(CXX) $(ALL_LDFLAGS) -static-libstdc++ -static-libgcc -o $@ $(filter %.o,$^) $(CHECK_ROOMS) $(LIBS_nccl) -lpthread

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
	$$(Q)$$(CXX) $$(ALL_LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) -lcriterion -lsodium $(LIBS_$(1)) -lpthread
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

# ---- targets ---------------------------------------------------------------------------------------------
# Those of ALONE call make again, after `deps`: before that there may be nothing to configure with.
JOBS ?= $(shell nproc)
AGAIN := $(MAKE) --no-print-directory -j$(JOBS)
RUN := $(MAKE) --no-print-directory
NEED_DEPS := tests/deps --check || tests/deps
# Every runner ends with a line `NAME: N passed, N failed` and takes the built tree from here.
export DISTINIT_BUILD := $(abspath $(BUILD))

.PHONY: all help deps demo check check-unit check-cluster run-units asan tsan bench format format-check tidy \
        install uninstall dist clean distclean

help: ## these lines
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "Variables: BUILD=build PREFIX=/usr/local DESTDIR= SLURM_PLUGINDIR=… WERROR=-Werror V=1"

all: ## build distinit, distinit-stage and the plugin (the default)

deps: ## install the Debian packages that everything here needs (root)
	@tests/deps

demo: ## two private Slurm nodes and a training job on them (root)
	@$(NEED_DEPS)
	@$(AGAIN) all
	@tests/cluster/demo

check: ## build and run all tests, sanitizers too (root)
	@$(NEED_DEPS)
	@$(AGAIN) all
	@$(RUN) --keep-going check-unit check-cluster asan tsan

RUNNERS := $(filter-out tests/bench/run,$(wildcard tests/*/run))
check-unit: all run-units ## the tests that need neither root nor Slurm's daemons
	$(Q)status=0; for runner in $(RUNNERS) tests/include-rules; do \
	  echo "== $$runner"; timeout -k 10 900 $$runner </dev/null || status=1; done; exit $$status

UNIT_ROOMS ?= $(ROOMS) plugin
RUN_UNITS := $(filter $(foreach room,$(UNIT_ROOMS),%/unit-$(room)),$(UNIT_TESTS)) \
             $(if $(filter plugin,$(UNIT_ROOMS)),$(SPANK_TEST))
run-units: $(RUN_UNITS)
	$(Q)tests/run_units "$(LABEL)" $(RUN_UNITS)

check-cluster: all ## the tests on private Slurm clusters (root)
	$(Q)tests/cluster/run_tests

asan: ## the unit tests with address and undefined behaviour sanitizers
	@$(AGAIN) BUILD=$(BUILD)-asan LABEL=asan- CXXFLAGS="-g -O1" \
	  SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=undefined" run-units

tsan: ## the unit tests of rooms with several threads or processes under the thread sanitizer
	@$(AGAIN) BUILD=$(BUILD)-tsan LABEL=tsan- CXXFLAGS="-g -O1" CPPFLAGS=-Itests/tsan SANITIZE=-fsanitize=thread \
	  UNIT_ROOMS="base store rendezvous topo" run-units

bench: ## measure the launch and the store (root)
	@$(NEED_DEPS)
	@$(AGAIN) all
	@tests/bench/run

SOURCES = $(shell git ls-files '*.h' '*.cc')
format: ## clang-format every source file
	$(Q)clang-format -i $(SOURCES)
format-check: ## fail if a source file is not formatted
	$(Q)clang-format --dry-run --Werror $(SOURCES)

TIDY_SOURCES = $(filter-out tests/%,$(filter %.cc,$(SOURCES)))
tidy: ## clang-tidy, all findings are errors
	$(Q)printf '%s\n' $(TIDY_SOURCES) | xargs -P$(JOBS) -I{} clang-tidy --quiet {} -- $(ALL_CPPFLAGS) -std=c++20 \
	  2> >(grep -v 'warnings\? generated' >&2)

LIBEXEC = $(PREFIX)/libexec/distinit
SHARE = $(PREFIX)/share/distinit
DOC = $(PREFIX)/share/doc/distinit
MAN_PAGES := $(wildcard man/*.[1378])
install: all ## install to $(DESTDIR)$(PREFIX); the plugin is not enabled
	$(Q)install -d $(addprefix $(DESTDIR),$(LIBEXEC) $(PREFIX)/bin $(SLURM_PLUGINDIR) $(DOC) \
	  $(SHARE)/plugstack.conf.d $(SHARE)/slurm-conf)
	$(Q)install -m 755 $(BUILD)/distinit $(BUILD)/distinit-stage $(BUILD)/distinit-check $(DESTDIR)$(LIBEXEC)
	$(Q)ln -sfn ../libexec/distinit/distinit $(DESTDIR)$(PREFIX)/bin/distinit
	$(Q)install -m 644 $(BUILD)/distinit.so $(DESTDIR)$(SLURM_PLUGINDIR)
	$(Q)echo "required distinit.so helper=$(LIBEXEC)/distinit" >$(DESTDIR)$(SHARE)/plugstack.conf.d/distinit.conf
	$(Q)for page in $(MAN_PAGES); do \
	  install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man$${page##*.} $$page || exit 1; done
	$(Q)for file in $(wildcard README.md CHANGELOG.md LICENSE); do \
	  install -m 644 $$file $(DESTDIR)$(DOC) || exit 1; done
	$(Q)for file in $(wildcard contrib/slurm-conf/*); do \
	  install -m 644 $$file $(DESTDIR)$(SHARE)/slurm-conf || exit 1; done
	@echo "installed; to enable it: ln -s $(SHARE)/plugstack.conf.d/distinit.conf /etc/slurm/plugstack.conf.d/,"
	@echo "with 'include plugstack.conf.d/*' in plugstack.conf on every node"

uninstall: ## remove what install put there
	$(Q)rm -rf $(addprefix $(DESTDIR),$(LIBEXEC) $(SHARE) $(DOC))
	$(Q)rm -f $(DESTDIR)$(PREFIX)/bin/distinit $(DESTDIR)$(SLURM_PLUGINDIR)/distinit.so
	$(Q)for page in $(MAN_PAGES); do \
	  rm -f $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; done

dist: ## a tarball of the committed tree
	$(Q)version=$$(sed -n 's/^AC_INIT(\[distinit\], \[\(.*\)\])/\1/p' configure.ac); \
	  git archive --prefix=distinit-$$version/ -o distinit-$$version.tar.gz HEAD && echo distinit-$$version.tar.gz

clean: ## remove what was built
	$(Q)rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan
distclean: clean ## and what configure made
	$(Q)rm -rf configure config.mk config.log config.status autom4te.cache
