/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What counts, by name: names of processors' events as libpfm4 knows them, the kernel's own, and
 * UNIT/TERMS/ for units that describe themselves in /sys/bus/event_source/devices.
 */
#ifndef XPUGAP_PMU_EVENT_H
#define XPUGAP_PMU_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMU_NAME_MAX 64
#define PMU_UNIT_MAX 16
#define PMU_WHY_MAX  224

/*
 * struct pmu_event - something that can be counted
 * @name: as it was asked for
 * @unit: of the count times @scale; "": it is a number of events
 * @by: who knew the name: libpfm4, kernel, sysfs
 * @attr: as perf_event_open() wants it, for counting
 */
struct pmu_event {
	char name[PMU_NAME_MAX];
	char unit[PMU_UNIT_MAX];
	double scale;
	const char *by;
	struct perf_event_attr attr;
};

/*
 * Look a name up. 0, or with the reason in @why: -ENOENT for no such event, -EINVAL for one that is
 * not understood, -EOPNOTSUPP for one that does not count for a thread.
 */
int pmu_event__find(struct pmu_event *e, const char *name, char *why, size_t size);

/* Open it: for the calling thread (@cpu -1), or for whatever runs on @cpu. The fd or -errno. */
int pmu_event__open(const struct pmu_event *e, int cpu);

/* Why the kernel would not open it. */
void pmu_event__explain(int err, char *why, size_t size);

/* The @i-th name that this machine may know: the kernel's own, then events of its units; NULL past
 * the last. What it is called is copied to @buf of PMU_NAME_MAX. */
const char *pmu_event__name(size_t i, char *buf);

/* ---- inside ---- */

/* As pmu_event__find(), with -ENOENT where it is another's name; @root is the units' directory. */
int pmu_sysfs__find(struct pmu_event *e, const char *root, const char *name, char *why,
		    size_t size);
/* Names "UNIT/EVENT/" in @root one by one; what is not 0 ends it. */
int pmu_sysfs__each(const char *root, int (*each)(void *arg, const char *name), void *arg);
/* Does the unit with this number count for whole sockets? */
bool pmu_sysfs__is_shared(const char *root, uint32_t type);

int pmu_libpfm__find(struct pmu_event *e, const char *name);
/* Names of the processor's events; what is not 0 ends it. */
int pmu_libpfm__each(int (*each)(void *arg, const char *name), void *arg);
/* Can it be loaded? */
bool pmu_libpfm__is_there(void);

#define PMU_SYSFS "/sys/bus/event_source/devices"

#endif
