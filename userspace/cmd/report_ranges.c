// SPDX-License-Identifier: BSD-2-Clause
/* The program's own ranges, by name. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/report.h"
#include "userspace/lib/column.h"
#include "userspace/lib/json.h"
#include "userspace/lib/text.h"

#define LINES 24 /* of a workload; --json has all rows */

struct range_line {
	char label[32], share[16];
	const char *label_p, *share_p;
	uint64_t count, total_ns, own_ns, mean_ns, max_ns;
};

#define AT(member) .offset = offsetof(struct range_line, member)

static const struct column line_columns[] = {
	{"range", "  ranges", COL_STR, -28, AT(label_p)},
	{"count", "count", COL_U64, 9, AT(count)},
	{"total_ns", "total", COL_NS, 9, AT(total_ns)},
	{"own_ns", "own", COL_NS, 9, AT(own_ns)},
	{"share", "of steps", COL_STR, 8, AT(share_p)},
	{"mean_ns", "mean", COL_NS, 9, AT(mean_ns)},
	{"max_ns", "max", COL_NS, 9, AT(max_ns)},
};

static void fill_line(struct range_line *l, const struct range_row *row)
{
	snprintf(l->label, sizeof(l->label), "    %.27s", *row->range ? row->range : "?");
	snprintf(l->share, sizeof(l->share), "-");
	if (!isnan(row->share))
		snprintf(l->share, sizeof(l->share), "%.1f %%", 100 * row->share);
	l->count = row->count;
	l->total_ns = row->total_ns;
	l->own_ns = row->own_ns;
	l->mean_ns = (uint64_t)llround(row->mean_ns);
	l->max_ns = row->max_ns;
	l->label_p = l->label;
	l->share_p = l->share;
}

static bool same_workload(const struct range_row *a, const struct range_row *b)
{
	return a->workload == b->workload && a->device == b->device;
}

/* The ranges of one workload, the first of which is @rows. */
static int print_group(FILE *out, const struct range_row *rows, size_t n)
{
	size_t shown = n < LINES ? n : LINES, i;
	struct range_line *lines = calloc(shown + 1, sizeof(*lines));
	int err;

	if (!lines)
		return -ENOMEM;
	for (i = 0; i < shown; i++)
		fill_line(&lines[i], &rows[i]);
	fputs("\nranges of ", out);
	text__print(out, rows->workload);
	if (rows->device) {
		fputs(" on ", out);
		text__print(out, rows->device);
	}
	fputs(", the largest own time (outside of inner ranges) first\n", out);
	err = table__print(out, TABLE_TEXT, line_columns,
			   sizeof(line_columns) / sizeof(line_columns[0]), lines, shown,
			   sizeof(*lines), NULL);
	if (n > shown)
		fprintf(out, "    %zu more names\n", n - shown);
	free(lines);
	return err;
}

int report__print_ranges(const struct report *r, FILE *out)
{
	const struct range_row *rows;
	size_t n = 0, i, k;
	int err = 0;

	rows = r->ranges ? ranges__rows(r->ranges, &n) : NULL;
	for (i = 0; i < n && !err; i = k) {
		for (k = i; k < n && same_workload(&rows[i], &rows[k]); k++)
			;
		if (report__is_asked(r, rows[i].workload))
			err = print_group(out, &rows[i], k - i);
	}
	if (r->ranges && ranges__open(r->ranges))
		fprintf(out, "  %llu ranges had begun and have no end in the recording\n",
			(unsigned long long)ranges__open(r->ranges));
	return err;
}

void report__write_ranges(const struct report *r, struct json *j)
{
	const struct range_row *rows;
	size_t n = 0, i;

	rows = r->ranges ? ranges__rows(r->ranges, &n) : NULL;
	json__object(j, "ranges");
	json__u64(j, "open", r->ranges ? ranges__open(r->ranges) : 0);
	json__array(j, "rows");
	for (i = 0; i < n; i++) {
		if (!report__is_asked(r, rows[i].workload))
			continue;
		json__flat_object(j, NULL);
		columns__json(j, range_columns, nrange_columns, &rows[i]);
		json__end_object(j);
	}
	json__end_array(j);
	json__end_object(j);
}
