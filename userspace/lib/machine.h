/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine that we run on, as results name it. */
#ifndef XPUGAP_LIB_MACHINE_H
#define XPUGAP_LIB_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/utsname.h>

struct machine {
	char cpu[128];	      /* "AMD EPYC 7763 64-Core Processor"; "" if the kernel does not say */
	unsigned int cpus;    /* online */
	unsigned int allowed; /* that this process may use */
	unsigned int cores;   /* of the online cpus, siblings counted once */
	unsigned int sockets;
	unsigned int nodes; /* of memory */
	uint64_t memory_bytes;
	char distro[128];     /* "Debian GNU/Linux 12 (bookworm)" or "" */
	char governor[32];    /* of the first cpu, or "" */
	char clocksource[32]; /* "tsc" or "" */
	struct utsname kernel;
};

/* What cannot be found out is "" or 0. */
void machine__get(struct machine *m);

/* The processor's name alone, as machine.cpu; @size is at least 1. */
void machine__cpu_name(char *buf, size_t size);

#endif
