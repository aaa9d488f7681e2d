// SPDX-License-Identifier: GPL-2.0-only
/* The irq hook by classic tracepoints; ends stand before beginnings here, too. */
#include "bpf/include/plain.bpf.h"
#include "bpf/include/irq.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* offsets in the tracepoints' data */
const volatile __u32 at_entry_irq, at_entry_name, at_exit_irq, at_exit_ret;
const volatile __u32 at_entry_vec, at_exit_vec;

static __always_inline bool is_target(void)
{
	return plain__find(plain__tid()) != NULL;
}

SEC("tracepoint/irq/irq_handler_exit")
int irq_handler_exit(void *ctx)
{
	__u32 irq = plain__u32(ctx, at_exit_irq);
	struct cpu_state *c = cpu__get();
	__u64 start = c ? irq__end(&c->irq, irq) : 0;

	if (!c || !start)
		return 0;
	return irq__ended(c, start, is_target(), irq, plain__u32(ctx, at_exit_ret), NULL);
}

/* The name is passed at the beginning only, so it is told there, of whatever is handled first. */
SEC("tracepoint/irq/irq_handler_entry")
int irq_handler_entry(void *ctx)
{
	__u32 irq = plain__u32(ctx, at_entry_irq);
	__u32 where = plain__u32(ctx, at_entry_name); /* length << 16 | offset */
	struct cpu_state *c = cpu__get();

	if (!c)
		return 0;
	irq__name(&c->hook[REC_HOOK_IRQ], irq, ctx + (where & 0xffff));
	return irq__begin(c, &c->irq, irq);
}

SEC("tracepoint/irq/softirq_exit")
int softirq_exit(void *ctx)
{
	__u32 vec = plain__u32(ctx, at_exit_vec);
	struct cpu_state *c = cpu__get();
	__u64 start = c ? irq__end(&c->softirq, vec) : 0;

	return c && start ? softirq__ended(c, start, is_target(), vec) : 0;
}

SEC("tracepoint/irq/softirq_entry")
int softirq_entry(void *ctx)
{
	struct cpu_state *c = cpu__get();

	return c ? irq__begin(c, &c->softirq, plain__u32(ctx, at_entry_vec)) : 0;
}
