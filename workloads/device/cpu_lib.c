// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/device/cpu_lib.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static struct cpu_lib lib;
static bool loaded;
static char why[256];

static void *open_library(const char *file, const char *package)
{
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		snprintf(why, sizeof(why), "'%s' cannot be loaded (install %s)", file, package);
	return handle;
}

static bool resolve(void *handle, const char *file, const char *symbol, void *slot)
{
	void *address = dlsym(handle, symbol);

	if (!address)
		snprintf(why, sizeof(why), "'%s' has no function '%s' (another version?)", file,
			 symbol);
	*(void **)slot = address;
	return address;
}

static bool load_blas(void)
{
	void *handle;
	bool ours;

	/*
	 * Gemm runs on the team of the queue, each thread a part: OpenBLAS's own threads would be
	 * outside the device's core set. They are started when the library is loaded, unless:
	 */
	ours = !getenv("OPENBLAS_NUM_THREADS") && setenv("OPENBLAS_NUM_THREADS", "1", 1) == 0;
	handle = open_library(CPU_BLAS_FILE, CPU_BLAS_PACKAGE);
	if (ours)
		unsetenv("OPENBLAS_NUM_THREADS");
	if (!handle)
		return false;
#define X(ret, name, ...)                                                                          \
	if (!resolve(handle, CPU_BLAS_FILE, #name, &lib.blas.name))                                \
		return false;
	CPU_BLAS_SYMBOLS(X)
#undef X
	lib.blas.openblas_set_num_threads(1);
	return true;
}

static bool load_omp(void)
{
	void *handle = open_library(CPU_OMP_FILE, CPU_OMP_PACKAGE);

	if (!handle)
		return false;
#define X(ret, name, ...)                                                                          \
	if (!resolve(handle, CPU_OMP_FILE, #name, &lib.omp.name))                                  \
		return false;
	CPU_OMP_SYMBOLS(X)
#undef X
	return true;
}

static bool load_dnnl(void)
{
	void *handle = open_library(CPU_DNNL_FILE, CPU_DNNL_PACKAGE);

	if (!handle)
		return false;
#define X(name)                                                                                    \
	if (!resolve(handle, CPU_DNNL_FILE, "dnnl_" #name, &lib.dnnl.name))                        \
		return false;
	CPU_DNNL_SYMBOLS(X)
#undef X
	return true;
}

static void load(void)
{
	loaded = load_dnnl() && load_omp() && load_blas();
}

const struct cpu_lib *cpu_lib__get(char *reason, size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	if (loaded)
		return &lib;
	if (size)
		snprintf(reason, size, "%s", why);
	return NULL;
}
