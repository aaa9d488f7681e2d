# SPDX-License-Identifier: BSD-2-Clause
# Manual pages and completion, generated from the option rows by the program itself.

paren := (
COMMANDS := $(shell sed -n '/^ *[/]*\*/d;s/.*\bX$(paren)\([a-z][a-z0-9_]*\),.*/\1/p' userspace/cmd/table.h)
MAN1 := $(O)/man/xpugap.1 $(COMMANDS:%=$(O)/man/xpugap-%.1)
MAN_HAND := $(sort $(wildcard Documentation/man/*.[1-8]))
COMPLETION := $(O)/completion/xpugap

.PHONY: docs
docs: $(MAN1) $(COMPLETION)

$(O)/man/xpugap.1: $(O)/xpugap
	$(say) MAN $@
	@mkdir -p $(@D)
	$(Q)$< help --man >$@

$(O)/man/xpugap-%.1: $(O)/xpugap
	$(say) MAN $@
	@mkdir -p $(@D)
	$(Q)$< help --man $* >$@

$(COMPLETION): $(O)/xpugap
	$(say) GEN $@
	@mkdir -p $(@D)
	$(Q)$< help --completion bash >$@
