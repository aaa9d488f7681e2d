// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of processors' events by libpfm4, which is loaded when it is needed. Its interface for
 * other programs is fixed by the sizes that each structure carries, so it is declared here, as its
 * manual pages pfm_get_os_event_encoding(3), pfm_get_event_info(3) and pfm_get_pmu_info(3) describe
 * it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "userspace/lib/log.h"
#include "userspace/pmu/event.h"

#define LIBRARY	      "libpfm.so.4"
#define OS_PERF_EVENT 1 /* PFM_OS_PERF_EVENT: without what only perf adds */
#define LEVEL_USER    8
#define LEVEL_KERNEL  1
#define ATTR_ROOM     512
#define PMU_MAX	      1024 /* their numbers are below, in all versions so far */

struct encoding {
	struct perf_event_attr *attr;
	char **full_name;
	size_t size;
	int index;
	int cpu;
	int flags;
	int pad;
};

struct pmu_info {
	const char *name;
	const char *what;
	size_t size;
	int pmu;
	int type;
	int nevents;
	int first_event;
	int max_encoding;
	int ncounters;
	int nfixed;
	unsigned int is_present : 1;
	unsigned int is_default : 1;
	unsigned int reserved : 30;
};

struct event_info {
	const char *name;
	const char *what;
	const char *same_as;
	size_t size;
	uint64_t code;
	int pmu;
	int value_type;
	int index;
	int nattrs;
	int reserved;
	unsigned int flags;
};

static struct {
	int (*initialize)(void);
	int (*encode)(const char *name, int levels, int os, void *arg);
	int (*pmu_info)(int pmu, struct pmu_info *info);
	int (*event_info)(int index, int os, struct event_info *info);
	int (*event_next)(int index);
	bool loaded;
} pfm;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
	void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		log_debug("libpfm4: %s", dlerror());
		return;
	}
	*(void **)&pfm.initialize = dlsym(lib, "pfm_initialize");
	*(void **)&pfm.encode = dlsym(lib, "pfm_get_os_event_encoding");
	*(void **)&pfm.pmu_info = dlsym(lib, "pfm_get_pmu_info");
	*(void **)&pfm.event_info = dlsym(lib, "pfm_get_event_info");
	*(void **)&pfm.event_next = dlsym(lib, "pfm_get_event_next");
	pfm.loaded = pfm.initialize && pfm.encode && pfm.pmu_info && pfm.event_info &&
		     pfm.event_next && pfm.initialize() == 0;
}

bool pmu_libpfm__is_there(void)
{
	pthread_once(&once, load);
	return pfm.loaded;
}

int pmu_libpfm__find(struct pmu_event *e, const char *name)
{
	/* the library's own idea of the structure may be of later kernels, and longer */
	union {
		struct perf_event_attr attr;
		char room[ATTR_ROOM];
	} u = {{.size = sizeof(u.attr)}};
	struct encoding arg = {.attr = &u.attr, .size = sizeof(arg)};

	if (!pmu_libpfm__is_there() ||
	    pfm.encode(name, LEVEL_USER | LEVEL_KERNEL, OS_PERF_EVENT, &arg))
		return -ENOENT;
	e->attr = u.attr;
	e->attr.size = sizeof(e->attr);
	e->by = "libpfm4";
	return 0;
}

static int each_of(const struct pmu_info *pmu, int (*each)(void *arg, const char *name), void *arg)
{
	int i, ret = 0;

	for (i = pmu->first_event; i != -1 && !ret; i = pfm.event_next(i)) {
		struct event_info info = {.size = sizeof(info)};

		if (pfm.event_info(i, OS_PERF_EVENT, &info) == 0 && info.name)
			ret = each(arg, info.name);
	}
	return ret;
}

int pmu_libpfm__each(int (*each)(void *arg, const char *name), void *arg)
{
	int i, ret = 0;

	if (!pmu_libpfm__is_there())
		return 0;
	for (i = 0; i < PMU_MAX && !ret; i++) {
		struct pmu_info info = {.size = sizeof(info)};

		if (pfm.pmu_info(i, &info) == 0 && info.is_present)
			ret = each_of(&info, each, arg);
	}
	return ret;
}
