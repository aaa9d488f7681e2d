/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events as /sys/bus/event_source/devices/UNIT describes them: a list of terms, NAME=VALUE, and for
 * each name a format, which says where in the numbers that the kernel takes the value's bits go.
 */
#ifndef XPUGAP_PMU_FORMAT_H
#define XPUGAP_PMU_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define PMU_CONFIGS	  3 /* config, config1, config2 */
#define PMU_FORMAT_RANGES 8

/* The value's lowest bits go to the first range, and so on. */
struct pmu_format {
	unsigned int config; /* which of them */
	unsigned int n;
	struct {
		uint8_t first, last;
	} range[PMU_FORMAT_RANGES];
};

/* Parse "config1:0-7,32-35,63" with or without a newline. 0 or -EINVAL. */
int pmu_format__parse(struct pmu_format *f, const char *text);

/* Put @value where @f says. 0 or -ERANGE: it has more bits than there is room for. */
int pmu_format__set(const struct pmu_format *f, uint64_t value, uint64_t configs[PMU_CONFIGS]);

/*
 * Put "event=0x3c,umask=1,edge" together; a term without a value is 1, "config=..." and the like
 * set a number as it is. @find gives a term's format: 0, or -ENOENT if there is none of that name.
 * 0 or -errno, with what is wrong in @why.
 */
typedef int pmu_find_format(void *arg, const char *name, struct pmu_format *f);
int pmu_terms__pack(const char *terms, pmu_find_format *find, void *arg,
		    uint64_t configs[PMU_CONFIGS], char *why, size_t size);

#endif
