// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/traces.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "userspace/cmd/cmd.h"
#include "userspace/lib/column.h"
#include "userspace/lib/log.h"
#include "userspace/trace/records.h"

static int add_path(struct traces *t, char *path)
{
	char **paths;

	if (!path)
		return -ENOMEM;
	paths = realloc(t->paths, (t->n + 1) * sizeof(*paths));
	if (!paths) {
		free(path);
		return -ENOMEM;
	}
	t->paths = paths;
	t->paths[t->n++] = path;
	return 0;
}

static int is_trace(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 4 && d->d_name[0] != '.' && strcmp(d->d_name + n - 4, ".xpt") == 0;
}

bool traces__in(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool found = false;

	while (!found && d && (e = readdir(d)))
		found = is_trace(e);
	if (d)
		closedir(d);
	return found;
}

static int add_directory(struct traces *t, const char *dir)
{
	struct dirent **names;
	int n = scandir(dir, &names, is_trace, alphasort), i, err = 0;
	char *path;

	if (n < 0) {
		err = -errno;
		log_error("cannot read directory '%s': %s", dir, log__err(err));
		return err;
	}
	for (i = 0; i < n; i++) {
		if (!err && asprintf(&path, "%s/%s", dir, names[i]->d_name) < 0)
			path = NULL;
		if (!err)
			err = add_path(t, path);
		free(names[i]);
	}
	free(names);
	if (!err && n == 0) {
		log_error("directory '%s' holds no trace (*.xpt)", dir);
		err = -ENOENT;
	}
	return err;
}

bool traces__is_directory(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int traces__find(struct traces *t, int argc, char **argv)
{
	int err = 0, i;

	*t = (struct traces){0};
	if (argc == 0)
		err = add_path(t, strdup(TRACE_DEFAULT));
	for (i = 0; !err && i < argc; i++)
		err = traces__is_directory(argv[i]) ? add_directory(t, argv[i])
						    : add_path(t, strdup(argv[i]));
	if (err == -ENOMEM)
		log_error("out of memory");
	if (err)
		traces__free(t);
	return err;
}

void traces__free(struct traces *t)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		free(t->paths[i]);
	free(t->paths);
	*t = (struct traces){0};
}

void losses__add(struct losses *l, const struct rec_lost *rec)
{
	struct loss *row = l->rows, *end = row + l->n;

	l->total += rec->count;
	while (row < end &&
	       (row->hook != rec->hook || row->cpu != rec->cpu || row->why != rec->why))
		row++;
	if (row == l->rows + LOSSES_MAX)
		return;
	if (row == end) {
		l->n++;
		*row = (struct loss){rec->hook, rec->cpu, rec->why, 0, rec->since_ns, 0};
	}
	row->count += rec->count;
	if (rec->since_ns < row->since_ns)
		row->since_ns = rec->since_ns;
	if (rec->hdr.time_ns > row->until_ns)
		row->until_ns = rec->hdr.time_ns;
}

int losses__scan(struct losses *l, const char *path)
{
	const struct trace_filter filter = {.types = TRACE_TYPE(REC_LOST)};
	struct trace_reader *r = trace_reader__open(path);
	struct trace_event ev;
	int ret;

	if (!r)
		return -errno;
	ret = trace_reader__filter(r, &filter);
	while (!ret && (ret = trace_reader__next(r, &ev)) == 1) {
		losses__add(l, (const struct rec_lost *)ev.rec);
		ret = 0;
	}
	trace_reader__free(r);
	return ret;
}

bool loss__is_cut(uint32_t hook, uint32_t why, uint64_t since_ns)
{
	return hook == REC_HOOK_META && why == REC_LOST_WRITE && since_ns;
}

void losses__describe_cut(uint64_t count, uint64_t after_ns, char *buf, size_t size)
{
	char after[32];

	snprintf(
		buf, size,
		"the recording ended early: no room on the disk, or writing failed, after %s; %llu "
		"records that came later or did not fit are not in it",
		format__ns(after, sizeof(after), after_ns), (unsigned long long)count);
}

static bool is_cut(const struct loss *row)
{
	return loss__is_cut(row->hook, row->why, row->since_ns);
}

void losses__describe(const struct losses *l, uint64_t begin_ns, char *buf, size_t size)
{
	const struct loss *row, *worst = NULL, *cut = NULL;
	const char *hook, *why;
	uint64_t other = l->total;
	size_t used = 0;

	for (row = l->rows; row < l->rows + l->n; row++) {
		if (is_cut(row))
			cut = row; /* the writer says it once, of no cpu */
		else if (!worst || row->count > worst->count)
			worst = row;
	}
	*buf = '\0';
	if (cut) {
		losses__describe_cut(cut->count,
				     cut->since_ns > begin_ns ? cut->since_ns - begin_ns : 0, buf,
				     size);
		other -= cut->count;
		used = strlen(buf);
	}
	if (!other || used >= size)
		return;
	hook = worst ? record__value_name(REC_FMT_HOOK, worst->hook) : NULL;
	why = worst ? record__value_name(REC_FMT_WHY, worst->why) : NULL;
	snprintf(buf + used, size - used,
		 "%s%llu records were lost while recording, most of hook '%s' (why: %s)",
		 cut ? "; before that, " : "", (unsigned long long)other, hook ? hook : "?",
		 why ? why : "?");
}

int traces__complain(const char *path, const struct trace_reader *r)
{
	struct trace_damage d;

	trace_reader__damage(r, &d);
	if (d.unknown_records)
		log_warning("trace '%s': %llu records are of types that this program does not know "
			    "(use a newer xpugap)",
			    path, (unsigned long long)d.unknown_records);
	if (d.bad_head)
		log_error(
			"trace '%s': the head is damaged: times are not relative to its beginning",
			path);
	if (d.bad_chunks || d.skipped_bytes)
		log_error("trace '%s' is damaged: %llu chunks with at least %llu records and %llu "
			  "stray bytes were left out",
			  path, (unsigned long long)d.bad_chunks, (unsigned long long)d.bad_records,
			  (unsigned long long)d.skipped_bytes);
	if (d.truncated)
		log_error("trace '%s' has " TRACES_NO_END, path);
	return trace_damage__any(&d) ? EXIT_FAILED : EXIT_OK;
}
