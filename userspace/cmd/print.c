// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/print.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/trace/records.h"

#define NSEC	    1000000000
#define TASK_WIDTH  22
#define TYPE_WIDTH  13
#define PREFIX_SIZE 48

/* A field with what stands before its value, made once. */
struct field {
	const struct record_field *f;
	char prefix[PREFIX_SIZE]; /* " name=" or ",\"name\":" */
	uint8_t prefix_len;
};

struct layout {
	const struct record_desc *desc;
	struct field *fields;
};

struct printer {
	struct out *out;
	const struct trace_state *state;
	bool json;
	enum print_clock clock;
	uint64_t begin_ns;
	uint64_t real_offset; /* CLOCK_REALTIME less CLOCK_MONOTONIC */
	uint64_t second;      /* to which date belongs */
	char date[32];
	size_t date_len;
	struct layout layouts[REC_TYPE_MAX];
};

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && memcmp(s + len - n, end, n) == 0;
}

/* Moments are printed in seconds, strings themselves: their units and lengths go. */
static void make_prefix(struct field *field, bool json)
{
	size_t len = strlen(field->f->name);

	if ((!json && field->f->format == REC_FMT_TIME && ends_with(field->f->name, len, "_ns")))
		len -= 3;
	if (record_format__is_length(field->f->format) && ends_with(field->f->name, len, "_len"))
		len -= 4;
	field->prefix_len =
		(uint8_t)snprintf(field->prefix, PREFIX_SIZE,
				  json ? ",\"%.*s\":" : " %.*s=", (int)len, field->f->name);
}

static int make_layout(struct printer *p, const struct record_desc *d)
{
	struct layout *l = &p->layouts[d->type];
	unsigned int i;

	l->desc = d;
	l->fields = calloc(d->n_fields, sizeof(*l->fields));
	if (!l->fields)
		return -ENOMEM;
	for (i = 0; i < d->n_fields; i++) {
		l->fields[i].f = &d->fields[i];
		make_prefix(&l->fields[i], p->json);
	}
	return 0;
}

struct printer *printer__new(struct out *out, const struct trace_state *state, bool json,
			     enum print_clock clock, uint64_t begin_ns, uint64_t realtime_ns)
{
	struct printer *p = calloc(1, sizeof(*p));
	const struct record_desc *d;
	size_t i;

	if (!p)
		return NULL;
	p->out = out;
	p->state = state;
	p->json = json;
	p->clock = clock;
	p->begin_ns = begin_ns;
	p->real_offset = realtime_ns - begin_ns;
	for (i = 0; (d = record__at(i)); i++) {
		if (make_layout(p, d)) {
			printer__free(p);
			errno = ENOMEM;
			return NULL;
		}
	}
	return p;
}

void printer__free(struct printer *p)
{
	unsigned int i;

	if (!p)
		return;
	for (i = 0; i < REC_TYPE_MAX; i++)
		free(p->layouts[i].fields);
	free(p);
}

/* ---- values ---- */

static void print_date(struct printer *p, uint64_t real_ns)
{
	time_t second = (time_t)(real_ns / NSEC);
	struct tm tm;

	if (!p->date_len || p->second != real_ns / NSEC) {
		p->second = real_ns / NSEC;
		gmtime_r(&second, &tm);
		p->date_len = strftime(p->date, sizeof(p->date), "%Y-%m-%dT%H:%M:%S.", &tm);
	}
	out__raw(p->out, p->date, p->date_len);
	out__u64_pad(p->out, real_ns % NSEC, 9, '0');
	out__char(p->out, 'Z');
}

static void print_time(struct printer *p, uint64_t time_ns)
{
	if (p->clock == PRINT_REAL)
		print_date(p, time_ns + p->real_offset);
	else if (p->clock == PRINT_MONOTONIC)
		out__seconds(p->out, (int64_t)time_ns);
	else
		out__seconds(p->out, (int64_t)(time_ns - p->begin_ns));
}

static void print_quoted(struct printer *p, const char *s, size_t n)
{
	out__char(p->out, '"');
	out__escaped(p->out, s, n);
	out__char(p->out, '"');
}

/* Text as it is, but in JSON quoted. */
static void print_word(struct printer *p, const char *s)
{
	if (p->json)
		out__char(p->out, '"');
	out__raw(p->out, s, strlen(s));
	if (p->json)
		out__char(p->out, '"');
}

static void print_hex(struct printer *p, uint64_t v)
{
	if (p->json)
		out__char(p->out, '"');
	out__hex(p->out, v);
	if (p->json)
		out__char(p->out, '"');
}

static void print_dev(struct printer *p, uint64_t v)
{
	struct out *o = p->out;

	if (!v) {
		out__raw(o, p->json ? "null" : "-", p->json ? 4 : 1);
		return;
	}
	if (p->json)
		out__char(o, '"');
	out__u64(o, v >> 20);
	out__char(o, ':');
	out__u64(o, v & 0xfffff);
	if (p->json)
		out__char(o, '"');
}

static void print_mode(struct printer *p, uint64_t v)
{
	if (p->json)
		out__char(p->out, '"');
	out__char(p->out, '0');
	out__oct(p->out, v);
	if (p->json)
		out__char(p->out, '"');
}

static void print_ret(struct printer *p, int64_t v)
{
	const char *name = v < 0 && v > -4096 ? strerrorname_np((int)-v) : NULL;

	if (!name || p->json) {
		out__s64(p->out, v);
		return;
	}
	out__char(p->out, '-');
	out__raw(p->out, name, strlen(name));
}

/* The letters of the kernel's task_state_array; what has none is printed as a number. */
static void print_state(struct printer *p, uint64_t v)
{
	static const char letters[] = "SDTtXZPI";
	unsigned int i;
	char word[sizeof(letters)];
	size_t n = 0;

	if (p->json) {
		out__u64(p->out, v);
		return;
	}
	for (i = 0; i < sizeof(letters) - 1; i++)
		if (v & 1u << i)
			word[n++] = letters[i];
	out__raw(p->out, n ? word : "R", n ? n : 1);
	if (v >> 8 & 1)
		out__char(p->out, '+');
}

static void print_name(struct printer *p, uint64_t id)
{
	size_t len;
	const char *s = trace_state__name(p->state, id, &len);

	if (s)
		print_quoted(p, s, len);
	else
		print_hex(p, id);
}

static void print_tid(struct printer *p, uint32_t tid)
{
	const struct trace_task *t;

	out__u64(p->out, tid);
	t = p->json ? NULL : trace_state__task(p->state, tid);
	if (!t || !t->comm_len)
		return;
	out__char(p->out, '(');
	out__escaped(p->out, t->comm, t->comm_len);
	out__char(p->out, ')');
}

static void print_real(struct printer *p, uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	if (p->json && !isfinite(v))
		out__lit(p->out, "null");
	else
		out__f64(p->out, v);
}

static void print_cpu(struct printer *p, uint64_t v)
{
	if (v != REC_NO_CPU)
		out__u64(p->out, v);
	else if (p->json)
		out__lit(p->out, "null");
	else
		out__lit(p->out, "-");
}

static void print_char(struct printer *p, uint64_t v)
{
	char c = (char)v;

	if (p->json)
		print_quoted(p, &c, v ? 1 : 0);
	else if (v)
		out__escaped(p->out, &c, 1);
	else
		out__char(p->out, '-');
}

static void print_named(struct printer *p, enum record_format format, uint64_t v)
{
	const char *name = record__value_name(format, v);

	if (name)
		print_word(p, name);
	else
		out__u64(p->out, v);
}

static void print_moment(struct printer *p, uint64_t v)
{
	if (p->json)
		out__u64(p->out, v);
	else if (v)
		print_time(p, v);
	else
		out__char(p->out, '-');
}

static uint64_t load(const struct rec *rec, const struct record_field *f)
{
	const char *at = (const char *)rec + f->offset;
	uint64_t v = 0;

	if (f->is_signed && f->width == 4)
		return (uint64_t)(int64_t) * (const int32_t *)at;
	memcpy(&v, at, f->width);
	return v;
}

/* A list of addresses; @text is aligned as the fixed part of a record is. */
static void print_addrs(struct printer *p, const char *text, size_t len)
{
	uint64_t addr;
	size_t at;

	if (p->json)
		out__char(p->out, '[');
	for (at = 0; at + sizeof(addr) <= len; at += sizeof(addr)) {
		if (at)
			out__char(p->out, ',');
		memcpy(&addr, text + at, sizeof(addr));
		print_hex(p, addr);
		out__room(p->out);
	}
	if (p->json)
		out__char(p->out, ']');
	else if (!len)
		out__char(p->out, '-');
}

static void print_number(struct printer *p, const struct record_field *f, uint64_t v)
{
	switch (f->format) {
	case REC_FMT_HEX:
	case REC_FMT_FLAGS:
		print_hex(p, v);
		break;
	case REC_FMT_TIME:
		print_moment(p, v);
		break;
	case REC_FMT_DEV:
		print_dev(p, v);
		break;
	case REC_FMT_MODE:
		print_mode(p, v);
		break;
	case REC_FMT_RET:
		print_ret(p, (int64_t)v);
		break;
	case REC_FMT_NAME:
		print_name(p, v);
		break;
	case REC_FMT_TID:
		print_tid(p, (uint32_t)v);
		break;
	case REC_FMT_STATE:
		print_state(p, v);
		break;
	case REC_FMT_REAL:
		print_real(p, v);
		break;
	case REC_FMT_CPU:
		print_cpu(p, v);
		break;
	case REC_FMT_CHAR:
		print_char(p, v);
		break;
	case REC_FMT_HOOK:
	case REC_FMT_WHY:
	case REC_FMT_HOOK_STATE:
	case REC_FMT_ROW_STATE:
	case REC_FMT_SPAN_KIND:
	case REC_FMT_FAULT_AREA:
	case REC_FMT_SOFTIRQ:
	case REC_FMT_BLOCK_OP:
	case REC_FMT_FILE_CALL:
	case REC_FMT_STREAM_CALL:
	case REC_FMT_STREAM_KIND:
	case REC_FMT_SOCKET_STATE:
	case REC_FMT_WAIT_CALL:
	case REC_FMT_DMA_CALL:
	case REC_FMT_DMA_DIR:
	case REC_FMT_FUTEX_OP:
	case REC_FMT_SAMPLE_EVENT:
	case REC_FMT_STACK_KIND:
	case REC_FMT_STACK_BY:
	case REC_FMT_IO_URING_OP:
		print_named(p, f->format, v);
		break;
	default:
		if (f->is_signed)
			out__s64(p->out, (int64_t)v);
		else
			out__u64(p->out, v);
	}
}

/* ---- lines ---- */

/* Print the fields; in JSON a comma stands before each, which the first one does not want. */
static void print_fields(struct printer *p, const struct rec *rec, const struct layout *l)
{
	const struct field *field = l->fields, *end = field + l->desc->n_fields;
	const char *comm, *text;
	unsigned int nth = 0, skip = p->json;
	size_t len;

	for (; field < end; field++) {
		if (field->f->format == REC_FMT_PAD)
			continue;
		out__raw(p->out, field->prefix + skip, field->prefix_len - skip);
		skip = 0;
		if (field->f->format == REC_FMT_LEN) {
			text = record__text(rec, nth++, &len);
			print_quoted(p, text, len);
		} else if (field->f->format == REC_FMT_ADDRS) {
			text = record__text(rec, nth++, &len);
			print_addrs(p, text, len);
		} else if (field->f->format == REC_FMT_COMM) {
			comm = (const char *)rec + field->f->offset;
			print_quoted(p, comm, strnlen(comm, REC_COMM_LEN));
		} else {
			print_number(p, field->f, load(rec, field->f));
		}
	}
}

static void fill_up(struct out *o, const char *from, size_t width)
{
	while ((size_t)(o->at - from) < width)
		out__char(o, ' ');
}

static void print_ring(struct out *o, uint16_t ring)
{
	if (ring == TRACE_RING_META) {
		out__lit(o, " [rec] ");
	} else if (ring >= TRACE_RING_USER) {
		out__lit(o, " [u");
		out__u64_pad(o, ring - TRACE_RING_USER, 2, '0');
		out__lit(o, "] ");
	} else {
		out__lit(o, " [");
		out__u64_pad(o, ring, 3, '0');
		out__lit(o, "] ");
	}
}

static void print_text(struct printer *p, const struct trace_event *ev, const struct layout *l)
{
	const struct trace_task *t = trace_state__task(p->state, ev->rec->tid);
	struct out *o = p->out;
	char time[64], *from = o->at;
	size_t n;

	print_time(p, ev->rec->time_ns);
	n = (size_t)(o->at - from);
	if (n < 15) { /* right-aligned */
		memcpy(time, from, n);
		memset(from, ' ', 15 - n);
		memcpy(from + 15 - n, time, n);
		o->at = from + 15;
	}
	print_ring(o, ev->ring);
	from = o->at;
	if (t && t->comm_len)
		out__escaped(o, t->comm, t->comm_len);
	else if (!ev->rec->tid && ev->ring < TRACE_RING_USER)
		out__lit(o, "swapper");
	if (o->at > from || ev->rec->tid) {
		out__char(o, '/');
		out__u64(o, ev->rec->tid);
	} else {
		out__char(o, '-');
	}
	fill_up(o, from, TASK_WIDTH);
	out__char(o, ' ');
	from = o->at;
	out__raw(o, l->desc->name, strlen(l->desc->name));
	fill_up(o, from, TYPE_WIDTH);
	print_fields(p, ev->rec, l);
	out__char(o, '\n');
}

static void print_json(struct printer *p, const struct trace_event *ev, const struct layout *l)
{
	const struct trace_task *t = trace_state__task(p->state, ev->rec->tid);
	struct out *o = p->out;

	out__lit(o, "{\"time_ns\":");
	out__u64(o, ev->rec->time_ns);
	out__lit(o, ",\"ring\":");
	out__u64(o, ev->ring);
	if (ev->ring < TRACE_RING_USER) {
		out__lit(o, ",\"cpu\":");
		out__u64(o, ev->ring);
	}
	out__lit(o, ",\"tid\":");
	out__u64(o, ev->rec->tid);
	if (t && t->pid) {
		out__lit(o, ",\"pid\":");
		out__u64(o, t->pid);
	}
	if (t && t->comm_len) {
		out__lit(o, ",\"comm\":");
		print_quoted(p, t->comm, t->comm_len);
	}
	out__lit(o, ",\"type\":\"");
	out__raw(o, l->desc->name, strlen(l->desc->name));
	out__lit(o, "\",\"fields\":{");
	print_fields(p, ev->rec, l);
	out__lit(o, "}}\n");
}

void printer__print(struct printer *p, const struct trace_event *ev)
{
	const struct layout *l = &p->layouts[ev->rec->type];

	out__room(p->out);
	if (p->json)
		print_json(p, ev, l);
	else
		print_text(p, ev, l);
}
