# SPDX-License-Identifier: BSD-2-Clause
# Tests: unit (Criterion, one program), e2e (shell), fuzz (libFuzzer), bench.

UNIT_SRCS := $(sort $(wildcard tests/unit/*.c))
UNIT_OBJS := $(UNIT_SRCS:%.c=$(O)/obj/%.o)

$(O)/tests/unit: $(UNIT_OBJS) $(O)/libxpugap.a
	$(say) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcriterion

.PHONY: check check-unit
check-unit: $(O)/tests/unit
	$(Q)$(O)/tests/unit
check: check-unit

-include $(UNIT_OBJS:.o=.d)
