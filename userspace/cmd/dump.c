// SPDX-License-Identifier: BSD-2-Clause
/* xpugap dump: the records of a trace, one a line. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/print.h"
#include "userspace/cmd/traces.h"
#include "userspace/lib/log.h"
#include "userspace/trace/records.h"

struct dump_opts {
	bool json;
	struct opt_list types;
	struct opt_list tids;
	struct opt_list pids;
	struct opt_list comms;
	struct opt_list cpus;
	const char *from;
	const char *to;
	uint64_t limit;
	bool follow;
	int clock;
};

static const char *const clocks[] = {"relative", "monotonic", "real", NULL};

static const struct opt rows[] = {
	{"json", 0, OPT_FLAG, NULL, "print a JSON object a line",
	 .more = "Times are nanoseconds of CLOCK_MONOTONIC, whatever --time says.",
	 OPT_OFFSET(dump_opts, json)},
	{"type", 't', OPT_LIST, "TYPE,...", "only records of these types, e.g. ioctl or 'sched_*'",
	 OPT_OFFSET(dump_opts, types)},
	{"tid", 0, OPT_LIST, "TID,...", "only records of these threads",
	 OPT_OFFSET(dump_opts, tids)},
	{"pid", 'p', OPT_LIST, "PID,...", "only records of the threads of these processes",
	 OPT_OFFSET(dump_opts, pids)},
	{"comm", 0, OPT_LIST, "NAME,...", "only records of threads so called, e.g. 'python*'",
	 OPT_OFFSET(dump_opts, comms)},
	{"cpu", 'C', OPT_LIST, "CPU,...", "only records of these cpus, e.g. 0,4-7",
	 .more = "'user' stands for what programs reported themselves, 'recorder' for what the "
		 "recorder wrote.",
	 OPT_OFFSET(dump_opts, cpus)},
	{"from", 0, OPT_STR, "TIME", "only records from TIME on",
	 .more = "TIME counts from the beginning of the recording (10s, 250ms; 2.5 are seconds), "
		 "or with @ before it from the boot, as --time monotonic prints it.",
	 OPT_OFFSET(dump_opts, from)},
	{"to", 0, OPT_STR, "TIME", "only records up to TIME, given as for --from",
	 OPT_OFFSET(dump_opts, to)},
	{"limit", 'n', OPT_U64, "N", "stop after N records", OPT_OFFSET(dump_opts, limit)},
	{"follow", 'F', OPT_FLAG, NULL, "wait for more at the end of a trace still being written",
	 OPT_OFFSET(dump_opts, follow)},
	{"time", 0, OPT_CHOICE, "CLOCK", "how to print times", .choices = clocks,
	 .more = "relative: seconds since the beginning of the recording; monotonic: seconds of "
		 "CLOCK_MONOTONIC; real: date and time, UTC.",
	 OPT_OFFSET(dump_opts, clock)},
	{0},
};

static const struct cmd_example examples[] = {
	{"What ioctls did the second second bring?",
	 "xpugap dump -t ioctl --from 1s --to 2s run.xpt"},
	{"Sum their time by command",
	 "xpugap dump --json -t ioctl run.xpt | jq -n 'reduce (inputs.fields) as $f ({}; "
	 ".[$f.cmd] += $f.duration_ns)'"},
	{"Look at a program while it runs", "xpugap record -o - -- ./prog | xpugap dump -"},
	{0},
};

#define RANGES_MAX 64

struct range {
	uint64_t from, to;
};

struct ranges {
	struct range r[RANGES_MAX];
	size_t n;
};

/* What to print; made from the options once. */
struct filter {
	const struct dump_opts *o;
	uint64_t types; /* for the reader */
	bool by_type;
	bool type[REC_TYPE_MAX];
	struct ranges tids, pids, rings;
};

struct dump {
	const struct filter *f;
	struct out out;
	struct trace_reader *reader;
	struct trace_state *state;
	struct printer *printer;
	struct losses losses;
	bool losses_said;
	uint64_t from_ns; /* records before are here only because they define something */
	uint64_t printed;
};

/* ---- options ---- */

static int match_types(struct filter *f, const char *pattern)
{
	const char *names[REC_TYPE_MAX], *near;
	const struct record_desc *d;
	bool any = false;
	size_t i;

	for (i = 0; (d = record__at(i)); i++) {
		names[i] = d->name;
		if (fnmatch(pattern, d->name, 0) != 0)
			continue;
		any = f->type[d->type] = true;
		f->types |= TRACE_TYPE(d->type);
	}
	if (any)
		return 0;
	near = opt__nearest(pattern, names, i);
	if (near)
		log_error("dump: --type: unknown '%s', did you mean '%s'?", pattern, near);
	else
		log_error("dump: --type: unknown '%s' (see 'xpugap info --types')", pattern);
	return -EINVAL;
}

/* "7" or "0-3" */
static int parse_range(const char *s, struct range *r)
{
	char text[64], *dash;

	if (strlen(s) >= sizeof(text))
		return -EINVAL;
	strcpy(text, s);
	dash = strchr(text, '-');
	if (dash)
		*dash++ = '\0';
	if (opt__parse_u64(text, &r->from) || opt__parse_u64(dash ? dash : text, &r->to))
		return -EINVAL;
	return r->from <= r->to ? 0 : -EINVAL;
}

static int parse_ring(const char *s, struct range *r)
{
	if (strcmp(s, "user") == 0)
		*r = (struct range){TRACE_RING_USER, TRACE_RING_META - 1};
	else if (strcmp(s, "recorder") == 0)
		*r = (struct range){TRACE_RING_META, TRACE_RING_META};
	else
		return parse_range(s, r) || r->to >= TRACE_RING_USER ? -EINVAL : 0;
	return 0;
}

static int parse_ranges(struct ranges *to, const struct opt_list *list, const char *option,
			int (*parse)(const char *s, struct range *r), const char *expected)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (to->n == RANGES_MAX) {
			log_error("dump: --%s: more than %d values", option, RANGES_MAX);
			return -EINVAL;
		}
		if (parse(list->items[i], &to->r[to->n++])) {
			log_error("dump: --%s: '%s' is not understood, expected %s", option,
				  list->items[i], expected);
			return -EINVAL;
		}
	}
	return 0;
}

static int parse_filter(struct filter *f, const struct dump_opts *o)
{
	size_t i;
	int err;

	f->o = o;
	f->by_type = o->types.n;
	for (i = 0; i < o->types.n; i++) {
		err = match_types(f, o->types.items[i]);
		if (err)
			return err;
	}
	err = parse_ranges(&f->tids, &o->tids, "tid", parse_range, "a thread id");
	if (!err)
		err = parse_ranges(&f->pids, &o->pids, "pid", parse_range, "a process id");
	if (!err)
		err = parse_ranges(&f->rings, &o->cpus, "cpu", parse_ring,
				   "a cpu such as 3, a range such as 0-3, 'user' or 'recorder'");
	return err;
}

/* A time of the command line; @begin_ns is what relative ones count from. */
static int parse_time(const char *s, const char *option, uint64_t begin_ns, uint64_t *ns)
{
	int err = opt__parse_time(*s == '@' ? s + 1 : s, ns);

	if (err) {
		log_error("dump: --%s: '%s' is not understood, expected a time such as 10s, 250ms "
			  "or @1234.567",
			  option, s);
		return err;
	}
	if (*s != '@' && __builtin_add_overflow(*ns, begin_ns, ns))
		*ns = UINT64_MAX;
	return 0;
}

static int parse_times(const struct dump_opts *o, uint64_t begin_ns, struct trace_filter *f)
{
	int err = 0;

	if (o->from)
		err = parse_time(o->from, "from", begin_ns, &f->from_ns);
	if (!err && o->to)
		err = parse_time(o->to, "to", begin_ns, &f->to_ns);
	if (!err && o->to && f->to_ns < f->from_ns) {
		log_error("dump: --to is before --from");
		err = -EINVAL;
	}
	return err;
}

/* ---- the loop ---- */

static bool in_ranges(const struct ranges *r, uint64_t v)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (v >= r->r[i].from && v <= r->r[i].to)
			return true;
	return r->n == 0;
}

static bool in_comms(const struct opt_list *comms, const struct trace_task *t)
{
	char name[REC_COMM_LEN + 1] = "";
	size_t i;

	if (t)
		memcpy(name, t->comm, t->comm_len);
	for (i = 0; i < comms->n; i++)
		if (fnmatch(comms->items[i], name, 0) == 0)
			return true;
	return comms->n == 0;
}

static bool is_wanted(const struct dump *d, const struct trace_event *ev)
{
	const struct filter *f = d->f;
	const struct trace_task *t;
	const struct rec *rec = ev->rec;

	if (rec->time_ns < d->from_ns || (f->by_type && !f->type[rec->type]))
		return false;
	if (f->rings.n && !in_ranges(&f->rings, ev->ring))
		return false;
	if (f->tids.n && !in_ranges(&f->tids, rec->tid))
		return false;
	if (!f->pids.n && !f->o->comms.n)
		return true;
	t = trace_state__task(d->state, rec->tid);
	return in_ranges(&f->pids, t && t->pid ? t->pid : rec->tid) && in_comms(&f->o->comms, t);
}

static int print_all(struct dump *d)
{
	uint64_t limit = d->f->o->limit ? d->f->o->limit : UINT64_MAX;
	struct trace_event ev;
	int ret;

	while (d->printed < limit && (ret = trace_reader__next(d->reader, &ev)) == 1) {
		if (TRACE_TYPE(ev.rec->type) & TRACE_STATE_TYPES &&
		    trace_state__feed(d->state, ev.rec)) {
			log_error("out of memory");
			return -ENOMEM;
		}
		if (ev.rec->type == REC_LOST && !d->losses_said)
			losses__add(&d->losses, (const struct rec_lost *)ev.rec);
		if (!is_wanted(d, &ev))
			continue;
		printer__print(d->printer, &ev);
		d->printed++;
		if (d->out.err)
			break;
	}
	return d->printed < limit ? ret : 0;
}

/* Whoever reads a pipe sees at once what there is. */
static void flush_idle(void *arg)
{
	struct dump *d = arg;

	out__flush(&d->out);
}

static int set_up(struct dump *d)
{
	const struct dump_opts *o = d->f->o;
	struct trace_filter filter = {0};
	struct trace_info info;
	int err;

	trace_reader__info(d->reader, &info);
	err = parse_times(o, info.begin_ns, &filter);
	if (err)
		return err;
	d->from_ns = filter.from_ns;
	if (d->f->by_type)
		filter.types = d->f->types | TRACE_STATE_TYPES | TRACE_TYPE(REC_LOST);
	filter.before = TRACE_STATE_TYPES;
	d->state = trace_state__new();
	d->printer = d->state ? printer__new(&d->out, d->state, o->json, o->clock, info.begin_ns,
					     info.realtime_ns)
			      : NULL;
	if (!d->printer) {
		log_error("out of memory");
		return -ENOMEM;
	}
	if (o->follow)
		trace_reader__follow(d->reader);
	trace_reader__on_idle(d->reader, flush_idle, d);
	return trace_reader__filter(d->reader, &filter);
}

/* What was lost comes first: in a file it can be found without reading the rest. */
static int open_with_losses(struct dump *d, const char *path)
{
	struct trace_info info;
	char text[512];
	int err;

	trace_reader__info(d->reader, &info);
	if (!info.seekable || d->f->o->follow || strcmp(path, "-") == 0)
		return 0;
	err = losses__scan(&d->losses, path);
	d->losses_said = true;
	if (err || !d->losses.total)
		return err;
	losses__describe(&d->losses, info.begin_ns, text, sizeof(text));
	if (d->f->o->json) {
		log_warning("trace '%s': %s", path, text);
		return 0;
	}
	out__lit(&d->out, "# ");
	out__raw(&d->out, text, strlen(text));
	out__char(&d->out, '\n');
	return 0;
}

static int dump_trace(struct dump *d, const char *path)
{
	struct trace_info info;
	char text[512];
	int err, status;

	d->reader = trace_reader__open(path);
	if (!d->reader)
		return EXIT_FAILED;
	err = set_up(d);
	if (err == -EINVAL)
		return EXIT_USAGE;
	if (!err)
		err = open_with_losses(d, path);
	if (!err)
		err = print_all(d);
	out__flush(&d->out);
	status = traces__complain(path, d->reader);
	if (d->losses.total && !d->losses_said) {
		trace_reader__info(d->reader, &info);
		losses__describe(&d->losses, info.begin_ns, text, sizeof(text));
		log_warning("trace '%s': %s", path, text);
	}
	return err ? EXIT_FAILED : status;
}

static void tear_down(struct dump *d)
{
	printer__free(d->printer);
	trace_state__free(d->state);
	trace_reader__free(d->reader);
	d->printer = NULL;
	d->state = NULL;
	d->reader = NULL;
	d->losses = (struct losses){0};
	d->losses_said = false;
}

static int dump_all(struct dump *d, const struct traces *traces)
{
	int status = EXIT_OK, s;
	size_t i;

	if (out__init(&d->out, STDOUT_FILENO)) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	for (i = 0; i < traces->n && !d->out.err; i++) {
		if (traces->n > 1 && !d->f->o->json) {
			out__lit(&d->out, "# ");
			out__escaped(&d->out, traces->paths[i], strlen(traces->paths[i]));
			out__char(&d->out, '\n');
		}
		s = dump_trace(d, traces->paths[i]);
		tear_down(d);
		if (s > status)
			status = s;
	}
	if (d->out.err) {
		log_error("cannot write the output: %s", log__err(d->out.err));
		status = EXIT_FAILED;
	}
	out__destroy(&d->out);
	return status;
}

static int run(const void *opts, int argc, char **argv)
{
	const struct dump_opts *o = opts;
	struct filter filter = {0};
	struct traces traces;
	struct dump *d;
	int status;

	if (parse_filter(&filter, o))
		return EXIT_USAGE;
	if (traces__find(&traces, argc, argv))
		return EXIT_FAILED;
	d = calloc(1, sizeof(*d));
	if (d) {
		d->f = &filter;
		status = dump_all(d, &traces);
	} else {
		log_error("out of memory");
		status = EXIT_FAILED;
	}
	free(d);
	traces__free(&traces);
	return status;
}

const struct cmd cmd_dump = {
	.name = "dump",
	.summary = "the records of a trace, one a line",
	.operands = "[TRACE|DIRECTORY|-]...",
	.description =
		"Prints the records of traces in order of time: when, on which cpu, which thread, "
		"what, and the fields of the record. A directory stands for the traces in it, - "
		"for standard input; without operands, xpugap.xpt is read.\n\n"
		"In the second column, a number is a cpu, u and a number a ring that a program "
		"filled itself, rec the recorder. What was lost while recording is said before the "
		"records, or after them where the trace comes through a pipe, and stands among "
		"them as records of type lost.",
	.opts = rows,
	.opts_size = sizeof(struct dump_opts),
	.examples = examples,
	.exit_status = "A trace that is damaged or has no end is printed as far as it can be read; "
		       "then the status is 1.",
	.see_also = "trace(5), xpugap-info(1), xpugap-record(1)",
	.run = run,
};
