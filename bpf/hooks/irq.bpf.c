// SPDX-License-Identifier: GPL-2.0-only
/*
 * The irq hook: handlers of device interrupts, and softirqs, that took time from a target or woke
 * one. Who is woken is what the sched hook sees; without it only the time taken is recorded.
 *
 * Interrupts that a cpu raises itself (its timer, calls by other cpus) pass no handler.
 *
 * Ends stand before beginnings so that they are attached first: what is seen to begin and not to
 * end would hide others until its like ends.
 */
#include "bpf/include/filter.bpf.h"
#include "bpf/include/irq.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline bool is_target(void)
{
	return filter__find(bpf_get_current_task_btf()) != NULL;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit, int irq, struct irqaction *action, int ret)
{
	struct cpu_state *c = cpu__get();
	__u64 start = c ? irq__end(&c->irq, irq) : 0;

	return c && start ? irq__ended(c, start, is_target(), irq, ret, action->name) : 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry, int irq, struct irqaction *action)
{
	struct cpu_state *c = cpu__get();

	return c ? irq__begin(c, &c->irq, irq) : 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit, unsigned int vec)
{
	struct cpu_state *c = cpu__get();
	__u64 start = c ? irq__end(&c->softirq, vec) : 0;

	return c && start ? softirq__ended(c, start, is_target(), vec) : 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vec)
{
	struct cpu_state *c = cpu__get();

	return c ? irq__begin(c, &c->softirq, vec) : 0;
}
