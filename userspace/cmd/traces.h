/* SPDX-License-Identifier: BSD-2-Clause */
/* The operands of commands that read traces. */
#ifndef XPUGAP_CMD_TRACES_H
#define XPUGAP_CMD_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/trace/trace.h"

#define TRACE_DEFAULT "xpugap.xpt"

/* Paths of traces, in order. */
struct traces {
	char **paths;
	size_t n;
};

/*
 * The traces that the @argc operands mean: a file, "-", or a directory, which stands for the *.xpt
 * files in it; without operands, TRACE_DEFAULT. 0 or -errno (printed).
 */
int traces__find(struct traces *t, int argc, char **argv);

/* Does the directory hold such files? */
bool traces__in(const char *dir);

/* Is it a directory, and not "-"? */
bool traces__is_directory(const char *path);
void traces__free(struct traces *t);

/* ---- losses ---- */

#define LOSSES_MAX 256

struct loss {
	uint32_t hook, cpu, why;
	uint64_t count;
	uint64_t since_ns, until_ns;
};

/* Losses by hook, cpu and reason; what exceeds the table is in the total only. */
struct losses {
	struct loss rows[LOSSES_MAX];
	size_t n;
	uint64_t total;
};

void losses__add(struct losses *l, const struct rec_lost *rec);

/* All losses of the trace at @path, without reading the rest; 0 or -errno. */
int losses__scan(struct losses *l, const char *path);

/* One sentence or two: how many, and where most of them. @begin_ns: of the trace. */
void losses__describe(const struct losses *l, uint64_t begin_ns, char *buf, size_t size);

/* Is a loss of @hook for the reason @why the end of a file that took no more? It is of all hooks.
 */
bool loss__is_cut(uint32_t hook, uint32_t why, uint64_t since_ns);

/* What to say of @count records that a file took no more of, after @after_ns of recording. */
void losses__describe_cut(uint64_t count, uint64_t after_ns, char *buf, size_t size);

/* What a trace has whose end is missing: "the trace has " … */
#define TRACES_NO_END                                                                              \
	"no end: if the recorder was killed at most the last second is missing; if the file was "  \
	"cut, what is missing is not known"

/*
 * Say on standard error what is wrong with a trace that was read: damage, a missing end, records
 * that were not understood. EXIT_OK or, if something is damaged or missing, EXIT_FAILED.
 */
int traces__complain(const char *path, const struct trace_reader *r);

#endif
