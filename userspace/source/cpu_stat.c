// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/cpu_stat.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"

#define PATH	   "/proc/stat"
#define LINE_LEN   512
#define N_COUNTS   10
#define MIN_COUNTS 4 /* user, nice, system, idle: what came later need not be there */
#define NSEC	   1000000000ULL

/* A number and what ends it; NULL if there is none, or one that is too large. */
static const char *parse_number(const char *p, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)*p))
		return NULL;
	errno = 0;
	*out = strtoull(p, &end, 10);
	return errno || (*end && *end != ' ' && *end != '\n') ? NULL : end;
}

static const char *skip_blanks(const char *p)
{
	while (*p == ' ')
		p++;
	return p;
}

static uint64_t to_ns(uint64_t count, unsigned long hz)
{
	return count / hz * NSEC + count % hz * NSEC / hz;
}

int cpu_stat__parse(const char *line, unsigned long hz, struct rec_cpu_stat *out)
{
	uint64_t counts[N_COUNTS] = {0}, cpu;
	unsigned int n;

	if (!hz || strncmp(line, "cpu", 3) != 0)
		return -EINVAL;
	line = parse_number(line + 3, &cpu);
	if (!line || cpu >= REC_NO_CPU)
		return -EINVAL;
	for (n = 0; n < N_COUNTS; n++) {
		line = skip_blanks(line);
		if (!*line || *line == '\n')
			break;
		line = parse_number(line, &counts[n]);
		if (!line || counts[n] > UINT64_MAX / NSEC)
			return -EINVAL;
	}
	if (n < MIN_COUNTS)
		return -EINVAL;
	*out = (struct rec_cpu_stat){
		.cpu = cpu,
		.user_ns = to_ns(counts[0], hz),
		.nice_ns = to_ns(counts[1], hz),
		.system_ns = to_ns(counts[2], hz),
		.idle_ns = to_ns(counts[3], hz),
		.iowait_ns = to_ns(counts[4], hz),
		.irq_ns = to_ns(counts[5], hz),
		.softirq_ns = to_ns(counts[6], hz),
		.steal_ns = to_ns(counts[7], hz),
		.guest_ns = to_ns(counts[8], hz),
		.guest_nice_ns = to_ns(counts[9], hz),
	};
	return 0;
}

static int write_one(struct trace_writer *w, const char *line)
{
	struct rec_cpu_stat rec;

	if (cpu_stat__parse(line, sysconf(_SC_CLK_TCK), &rec))
		return 0;
	rec.hdr = (struct rec){REC_CPU_STAT, sizeof(rec), 0, hostclock__now()};
	return trace_writer__append(w, TRACE_RING_META, &rec.hdr) ?: 1;
}

/* The lines of cpus stand at the front. The number, or -errno; of the writer in @err. */
static int write_all(struct trace_writer *w, FILE *in, int *err)
{
	char line[LINE_LEN];
	int n = 0, ret;

	*err = 0;
	while (fgets(line, sizeof(line), in) && strncmp(line, "cpu", 3) == 0) {
		ret = write_one(w, line);
		if (ret < 0) {
			*err = ret;
			return n;
		}
		n += ret;
	}
	if (ferror(in))
		return errno ? -errno : -EIO;
	return n;
}

int cpu_stat__write(struct cpu_stat *s, struct trace_writer *w)
{
	const char *path = s->path ? s->path : PATH;
	FILE *in;
	char why[160];
	int n, err = 0;

	if (s->failed)
		return 0;
	in = fopen(path, "re");
	n = in ? write_all(w, in, &err) : -errno;
	if (in)
		fclose(in);
	if (err || n > 0)
		return err;
	s->failed = 1;
	snprintf(why, sizeof(why), "cannot be read: %s", n ? log__err(n) : "it names no cpu");
	log_warning("'%s' %s; what a hypervisor takes of the cpus is not recorded", path, why);
	return trace_writer__meta(w, hostclock__now(), "host.cpu_stat", why);
}
