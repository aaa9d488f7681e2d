# SPDX-License-Identifier: BSD-2-Clause
#
# Tests: unit (Criterion, one program), e2e (shell), guest (shell, under other kernels), fuzz
# (libFuzzer), bench, lint.
#
# make check T='sched*'   only the tests whose names fit
# make fuzz FUZZ=NAME     only that target
# make bench B=NAME       only that measurement

T ?=
B ?= *
FUZZ ?= *

# time limits in tests are meant for plain builds
SLOW := $(if $(SAN),5,1)

# ---- unit ----

UNIT_SRCS := $(sort $(wildcard tests/unit/*.c))
UNIT_OBJS := $(UNIT_SRCS:%.c=$(O)/obj/%.o)

$(O)/tests/unit: $(UNIT_OBJS) $(O)/libxpugap.a $(O)/stamp/unit
	$(say) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(UNIT_OBJS) $(O)/libxpugap.a $(LDLIBS) -lcriterion

$(eval $(call stamp,unit,$(UNIT_SRCS)))

# ---- programs that e2e tests and measurements record: plain ones, as users have them ----

PROG_SRCS := $(sort $(wildcard tests/e2e/*.c tests/bench/*.c tests/guest/*.c))
PROGS := $(PROG_SRCS:%.c=$(O)/%)

$(PROGS): $(O)/%: %.c $(O)/stamp/cc | $(O)/libxpugap_mark.so
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(PLAIN_CFLAGS) $(CFLAGS_WERROR) -MMD -MP -MF $@.d -o $@ $< -L$(O) \
		-Wl,--as-needed '-Wl,-rpath,$$ORIGIN/../..' -lxpugap_mark -ldl -lm -pthread

# ---- programs that measure parts of the core by themselves ----

MICRO_SRCS := $(sort $(wildcard tests/bench/micro/*.c))
MICROS := $(MICRO_SRCS:%.c=$(O)/%)

$(MICROS): $(O)/%: $(O)/obj/%.o $(O)/libxpugap.a
	$(say) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# the program with workloads that misbehave in place of the real ones
FAKES := $(O)/tests/fakes/xpugap

$(FAKES): $(O)/obj/tests/fakes/workloads.o $(O)/obj/userspace/main.o $(O)/libxpugap.a
	$(say) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

-include $(UNIT_OBJS:.o=.d) $(PROGS:=.d) $(MICROS:$(O)/%=$(O)/obj/%.d) \
	$(O)/obj/tests/fakes/workloads.d

FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

# ---- lint: a goal for each tool ----

CLANG_FORMAT ?= clang-format-14
CLANG_TIDY ?= clang-tidy
CPPCHECK ?= cppcheck
SHELLCHECK ?= shellcheck
MANDOC ?= mandoc
LINTS := $(CLANG_FORMAT) $(CLANG_TIDY) $(CPPCHECK) $(SHELLCHECK) $(MANDOC)

ROOMS := $(wildcard bpf userspace workloads analysis tests)
LINT_C := $(sort $(CORE_SRCS) userspace/main.c $(UNIT_SRCS) $(PROG_SRCS) $(MICRO_SRCS) \
	    $(wildcard tests/fakes/*.c) \
	    $(wildcard tests/fuzz/*.c))
LINT_SHELL = $(shell grep -rlE '^\#!/(usr/)?bin/(env )?(ba)?sh' scripts tests .ci)

.PHONY: lint $(LINTS:%=lint-%)
lint: $(LINTS:%=lint-%)
lint-$(CLANG_FORMAT):
	$(Q)find $(ROOMS) -name '*.[ch]' ! -name vmlinux.h | sort | \
		xargs -r $(CLANG_FORMAT) --dry-run -Werror
lint-$(CLANG_TIDY): $(LINT_C:%.c=$(O)/lint/%.tidy)
lint-$(CPPCHECK): | $(SKELETONS)
	@mkdir -p $(O)/lint/cppcheck
	$(Q)$(CPPCHECK) --quiet --error-exitcode=1 --cppcheck-build-dir=$(O)/lint/cppcheck \
		--std=c11 --enable=warning,portability --inline-suppr -D_GNU_SOURCE \
		--include=scripts/cppcheck.h --suppressions-list=.cppcheck -I. $(LINT_C)
lint-$(SHELLCHECK):
	$(Q)$(SHELLCHECK) $(LINT_SHELL)
lint-$(MANDOC): docs
	$(Q)find $(wildcard Documentation/man) $(O)/man -name '*.[1-8]' | xargs -r $(MANDOC) -Tlint -Wwarning

$(O)/lint/%.tidy: %.c .clang-tidy $(O)/stamp/cc | $(SKELETONS)
	$(say) TIDY $<
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) -std=gnu11 -MM -MP -MT $@ -MF $(@:.tidy=.d) $<
	$(Q)$(CLANG_TIDY) --quiet --warnings-as-errors='*' $< -- $(CPPFLAGS) -std=gnu11 \
		-Wno-unknown-attributes 2>$@.err || { cat $@.err; rm -f $@.err; exit 1; }
	@rm -f $@.err; touch $@

-include $(LINT_C:%.c=$(O)/lint/%.d)

# ---- check ----

# scripts/vm runs nothing that a sanitizer could find fault with
E2E := $(filter-out $(if $(SAN),tests/e2e/vm.sh),$(sort $(wildcard tests/e2e/*.sh)))
# a make inside a test makes the same build, without our jobserver
SUBMAKE := make -s -j$(shell nproc) $(MAKEOVERRIDES) O=$(O)
RUN := SUBMAKE='$(SUBMAKE)' tests/run --build $(O) --slow $(SLOW) $(if $(T),--match '$(T)')
missing = command -v $(1) >/dev/null || { echo "$(1) is not installed"; exit 77; }

CHECKS := $(foreach c,layers tables pages,--command \
	    'static/$c=scripts/check-$c --self-test && scripts/check-$c')
CHECKS += $(foreach l,$(LINTS),--command 'lint/$l=$(call missing,$l); $(SUBMAKE) lint-$l')
CHECKS += $(foreach f,$(FUZZ_NAMES),--command \
	    'fuzz/$f=$(call missing,$(CLANG)); $(SUBMAKE) fuzz-seeds-$f')

# other kernels, emulated: too slow for sanitizers
GUEST := $(if $(SAN),,$(patsubst %,--guest %,$(sort $(wildcard tests/guest/*.sh))))

.PHONY: check check-unit check-e2e check-guest check-static
check: all $(O)/tests/unit $(PROGS) $(FAKES)
	$(Q)$(RUN) $(if $(SAN),,$(CHECKS)) --unit $(O)/tests/unit $(E2E) $(GUEST)
check-unit: $(O)/tests/unit
	$(Q)$(RUN) --unit $(O)/tests/unit
check-e2e: all $(PROGS) $(FAKES)
	$(Q)$(RUN) $(E2E)
check-guest: all $(PROGS)
	$(Q)$(RUN) $(GUEST)
check-static: all
	$(Q)$(RUN) $(CHECKS)

# ---- fuzz: the core once more, by clang with libFuzzer ----

FUZZ_FLAGS := -g -O1 -std=gnu11 -Wno-unknown-attributes -fno-omit-frame-pointer \
	      -fno-sanitize-recover=all -pthread
FUZZ_SAN := -fsanitize=address,undefined
FUZZ_OBJS := $(CORE_SRCS:%.c=$(O)/fuzz/obj/%.o)

$(O)/fuzz/obj/%.o: %.c $(O)/stamp/fuzz | $(SKELETONS)
	$(say) FUZZ-CC $<
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) $(FUZZ_FLAGS) $(FUZZ_SAN) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(O)/fuzz/libxpugap.a: $(FUZZ_OBJS) $(O)/stamp/core
	$(Q)rm -f $@ && ar rcs $@ $(FUZZ_OBJS)

$(FUZZ_NAMES:%=$(O)/fuzz/%): $(O)/fuzz/%: $(O)/fuzz/obj/tests/fuzz/fuzz_%.o $(O)/fuzz/libxpugap.a
	$(say) FUZZ-LD $@
	$(Q)$(CLANG) $(FUZZ_FLAGS) $(FUZZ_SAN) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

$(eval $(call stamp,fuzz,$(CLANG) $(CPPFLAGS) $(FUZZ_FLAGS) $(FUZZ_SAN)))

-include $(FUZZ_OBJS:.o=.d) $(FUZZ_NAMES:%=$(O)/fuzz/obj/tests/fuzz/fuzz_%.d)

FUZZ_CHOSEN := $(filter $(subst *,%,$(FUZZ)),$(FUZZ_NAMES))

.PHONY: fuzz $(FUZZ_NAMES:%=fuzz-%) $(FUZZ_NAMES:%=fuzz-seeds-%)
fuzz: $(FUZZ_CHOSEN:%=fuzz-%)
	@echo "fuzz: $(words $(FUZZ_CHOSEN)) targets, $(FUZZ_SECONDS) s each, nothing found"
$(FUZZ_NAMES:%=fuzz-%): fuzz-%: $(O)/fuzz/%
	$(say) FUZZ $*
	$(Q)tests/fuzz/run $< $(FUZZ_SECONDS)
# the seeds alone: a moment's work, part of `make check`
$(FUZZ_NAMES:%=fuzz-seeds-%): fuzz-seeds-%: $(O)/fuzz/%
	$(Q)tests/fuzz/run $< 0

# ---- bench ----

BENCHES := $(wildcard $(addprefix tests/bench/,$(addsuffix .sh,$(B))))

.PHONY: bench
bench: all $(PROGS) $(MICROS)
	$(Q)tests/bench/run --build $(O) $(BENCHES)
