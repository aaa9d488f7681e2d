/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel did with some threads during some time. */
#ifndef XPUGAP_ANALYSIS_ACCOUNT_FACTS_H
#define XPUGAP_ANALYSIS_ACCOUNT_FACTS_H

#include <stdint.h>

#include "analysis/account/timeline.h"

struct facts {
	uint64_t host_ns[HOST_STATES]; /* summed over the threads */
	uint64_t voluntary, involuntary;
	uint64_t ioctls;   /* that returned in this time */
	uint64_t ioctl_ns; /* that threads were inside one */
	uint64_t faults;   /* that were resolved in this time, with those only counted */
	uint64_t fault_ns; /* that threads were inside one */
};

static inline void facts__add(struct facts *to, const struct facts *f)
{
	int i;

	for (i = 0; i < HOST_STATES; i++)
		to->host_ns[i] += f->host_ns[i];
	to->voluntary += f->voluntary;
	to->involuntary += f->involuntary;
	to->ioctls += f->ioctls;
	to->ioctl_ns += f->ioctl_ns;
	to->faults += f->faults;
	to->fault_ns += f->fault_ns;
}

/* Of what lies within. */
static inline void facts__sub(struct facts *from, const struct facts *f)
{
	int i;

	for (i = 0; i < HOST_STATES; i++)
		from->host_ns[i] -= f->host_ns[i];
	from->voluntary -= f->voluntary;
	from->involuntary -= f->involuntary;
	from->ioctls -= f->ioctls;
	from->ioctl_ns -= f->ioctl_ns;
	from->faults -= f->faults;
	from->fault_ns -= f->fault_ns;
}

/* Of one thread this is the wall time. */
static inline uint64_t facts__total_ns(const struct facts *f)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < HOST_STATES; i++)
		sum += f->host_ns[i];
	return sum;
}

#endif
