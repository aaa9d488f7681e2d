# SPDX-License-Identifier: BSD-2-Clause
#
# make              xpugap, its library and its pages, in build/
# make check        all tests                    make bench       measurements
# make install      PREFIX=/usr/local DESTDIR=   make uninstall
# make lint         formatters and analysers     make fuzz        FUZZ_SECONDS=60
#
# V=1 shows the commands, O=DIR builds elsewhere, DEBUG=1 builds without optimisation,
# SAN=address,undefined builds with sanitizers (in build-san unless O is given), WERROR=1 stops at
# warnings. `make help` prints this.

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:

V ?= 0
DEBUG ?= 0
SAN ?=
WERROR ?= 0
O ?= build$(if $(SAN),-san)$(if $(filter 1,$(DEBUG)),-debug)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60

CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-8s%s\n'
endif

VERSION := 0.1.0
RELEASED := November 30, 2026
PACKAGES := libbpf libelf libzstd libcap jansson libjpeg

GOALS_WITHOUT_BUILD := help clean uninstall
ifneq ($(filter-out $(GOALS_WITHOUT_BUILD),$(or $(MAKECMDGOALS),all)),)
MISSING := $(shell for p in $(PACKAGES); do $(PKG_CONFIG) --exists $$p 2>/dev/null || echo $$p; done)
ifneq ($(MISSING),)
$(error missing: $(MISSING) (run scripts/setup, which installs what the build needs))
endif
endif

ARCH := $(shell uname -m)
BPF_ARCH := $(subst aarch64,arm64,$(subst x86_64,x86,$(ARCH)))

CPPFLAGS += -I. -I$(O)/gen -D_GNU_SOURCE -DXPUGAP_VERSION='"$(VERSION)"' \
	    -DXPUGAP_RELEASED='"$(RELEASED)"' \
	    $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
CFLAGS_BASE := -std=gnu11 -g -fno-common -pthread -Wall -Wextra -Wno-unused-parameter \
	       -Wno-missing-field-initializers -Wmissing-prototypes -Wstrict-prototypes \
	       -Wold-style-definition -Wshadow -Wwrite-strings -Wundef -Wno-psabi \
	       $(if $(filter 1,$(DEBUG)),-O0,-O2)
ifneq ($(SAN),)
CFLAGS_SAN := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
LDLIBS += $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null) -ldl -lm

# <bpf/usdt.bpf.h> wants <asm/errno.h>, which Debian keeps where only its own compilers look
BPF_CFLAGS := -g -O2 -target bpf -D__TARGET_ARCH_$(BPF_ARCH) -I. \
	      -idirafter /usr/include/$(shell $(CC) -print-multiarch) -Wall -Wno-unused-function \
	      -Wno-missing-declarations

# what objects depend on; warnings are no part of it
PLAIN_CFLAGS := $(CFLAGS_BASE) $(CFLAGS)
ALL_CFLAGS := $(CFLAGS_BASE) $(CFLAGS_SAN) $(CFLAGS)
CFLAGS_WERROR := $(if $(filter 1,$(WERROR)),-Werror)

# ---- sources: every file in a room belongs to the program ----

MARK_SRCS := $(sort $(wildcard userspace/mark/*.c) userspace/lib/hostclock.c)
CORE_SRCS := $(sort $(wildcard userspace/*/*.c workloads/*/*.c analysis/*.c analysis/*/*.c))
HOOKS := $(patsubst bpf/hooks/%.bpf.c,%,$(sort $(wildcard bpf/hooks/*.bpf.c)))
SKELETONS := $(HOOKS:%=$(O)/gen/bpf/hooks/%.skel.h)

CORE_OBJS := $(CORE_SRCS:%.c=$(O)/obj/%.o)
MARK_OBJS := $(MARK_SRCS:%.c=$(O)/pic/%.o)

.PHONY: all help clean FORCE
all: $(O)/xpugap mark docs
help:
	@sed -n '3,/^$$/s/^# \{0,1\}//p' Makefile
clean:
	$(Q)rm -rf $(O)

# $(call stamp,NAME,TEXT): the file $(O)/stamp/NAME, which is written only when its text changes.
# What depends on it is made anew when flags change, or when a source file has gone.
define stamp
stamp_$(1) := $(2)
$(O)/stamp/$(1): export STAMP = $$(stamp_$(1))
$(O)/stamp/$(1):
	@mkdir -p $$(@D)
	@printf '%s\n' "$$$$STAMP" >$$@
ifneq ($$(stamp_$(1)),$$(file <$(O)/stamp/$(1)))
$(O)/stamp/$(1): FORCE
endif
endef

$(eval $(call stamp,cc,$(CC) $(CPPFLAGS) $(ALL_CFLAGS)))
$(eval $(call stamp,core,$(CORE_SRCS) $(LDFLAGS) $(LDLIBS)))
$(eval $(call stamp,mark,$(MARK_SRCS) $(LDFLAGS)))
$(eval $(call stamp,bpf,$(CLANG) $(BPFTOOL) $(BPF_CFLAGS)))

$(O)/obj/%.o: %.c $(O)/stamp/cc | $(SKELETONS)
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(CFLAGS_WERROR) -MMD -MP -c -o $@ $<

# programs of any kind load the mark library: never with a sanitizer
$(O)/pic/%.o: %.c $(O)/stamp/cc
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(PLAIN_CFLAGS) $(CFLAGS_WERROR) -fPIC -fvisibility=hidden \
		-MMD -MP -c -o $@ $<

# ---- eBPF: an object and a skeleton for each hook family ----

# counts its tasks by exchanges, which came with version 3 of the instructions (Linux 5.12)
$(O)/bpf/hooks/task.bpf.o: BPF_CFLAGS += -mcpu=v3

$(O)/bpf/hooks/%.bpf.o: bpf/hooks/%.bpf.c $(O)/stamp/bpf
	$(say) BPF $<
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) $(CFLAGS_WERROR) -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@.tmp.o $<
	$(Q)$(BPFTOOL) gen object $@ $@.tmp.o && rm -f $@.tmp.o

$(O)/gen/bpf/hooks/%.skel.h: $(O)/bpf/hooks/%.bpf.o
	$(say) SKEL $@
	@mkdir -p $(@D)
	$(Q){ echo '/* NOLINTBEGIN */' && $(BPFTOOL) gen skeleton $< name $*_bpf && \
		echo '/* NOLINTEND */'; } >$@

# ---- programs and libraries ----

$(O)/libxpugap.a: $(CORE_OBJS) $(O)/stamp/core
	$(say) AR $@
	$(Q)rm -f $@ && ar rcs $@ $(CORE_OBJS)

$(O)/xpugap: $(O)/obj/userspace/main.o $(O)/libxpugap.a
	$(say) LD $@
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(O)/libxpugap_mark.a: $(MARK_OBJS) $(O)/stamp/mark
	$(say) AR $@
	$(Q)rm -f $@ && ar rcs $@ $(MARK_OBJS)

$(O)/libxpugap_mark.so.1: $(MARK_OBJS) $(O)/stamp/mark
	$(say) LD $@
	$(Q)$(CC) $(PLAIN_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,defs,-z,nodelete -o $@ $(MARK_OBJS)

$(O)/libxpugap_mark.so: $(O)/libxpugap_mark.so.1
	$(Q)ln -sf $(<F) $@

# what a program that marks needs, as `make install` lays it out; the program finds it beside itself
MARK_FILES := $(O)/include/xpugap_mark.h $(O)/python/xpugap_mark.py $(O)/xpugap_mark-uninstalled.pc

.PHONY: mark
mark: $(O)/libxpugap_mark.so $(O)/libxpugap_mark.a $(MARK_FILES)
$(O)/include/%.h: userspace/mark/%.h
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(O)/python/%.py: userspace/mark/python/%.py
	@mkdir -p $(@D)
	$(Q)cp $< $@

include scripts/docs.mk scripts/tests.mk scripts/install.mk

-include $(CORE_OBJS:.o=.d) $(MARK_OBJS:.o=.d) $(O)/obj/userspace/main.d
-include $(HOOKS:%=$(O)/bpf/hooks/%.bpf.d)
