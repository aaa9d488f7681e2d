// SPDX-License-Identifier: BSD-2-Clause
/*
 * Made-up records by a recipe: all above the rings can be tried and tested without a kernel to
 * record, rights or a device. The same recipe gives the same records everywhere.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"
#include "userspace/lib/opt.h"
#include "userspace/source/source.h"
#include "userspace/trace/records.h"

#define RECORDS_A_POLL 4096
#define FIRST_TID      1000
#define THREADS_MAX    4096
#define RINGS_MAX      1024
#define NAMES	       32
#define WEIGHT_MAX     1000000

/* Typical of what is recorded. */
#define DEFAULT_TYPES "ioctl*6+sched_switch*3+sched_waking*1"

struct recipe {
	uint64_t records;
	uint64_t rate; /* records in a second of the trace, over all rings */
	uint64_t rings;
	uint64_t user; /* rings of programs */
	uint64_t threads;
	uint64_t seed;
	uint64_t lost;	/* one LOST record after so many; 0: none */
	uint64_t start; /* time of the first record */
	uint32_t weight[REC_TYPE_MAX];
	uint64_t weights; /* their sum */
};

struct source {
	struct trace_writer *writer;
	struct recipe recipe;
	const char *text;
	bool pace;
	uint64_t shift_ns; /* from the trace's time to that of this machine */
	uint64_t time_ns;
	uint64_t random;
	uint64_t made;
	uint64_t names[NAMES];
	uint32_t current[RINGS_MAX]; /* thread on each cpu */
	uint16_t user_ring[RINGS_MAX];
	struct source_stats stats;
	uint64_t buf[REC_MAX_SIZE / 8];
};

/* xorshift64*: good enough, and the same everywhere. */
static uint64_t draw(struct source *s)
{
	uint64_t x = s->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	s->random = x;
	return x * 0x2545f4914f6cdd1dULL;
}

/* ---- recipe ---- */

static int add_type(struct recipe *r, char *item)
{
	const struct record_desc *d;
	char *star = strchr(item, '*');
	uint64_t weight = 1;

	if (star)
		*star++ = '\0';
	if (star && opt__parse_u64(star, &weight))
		return -EINVAL;
	d = record__by_name(item);
	if (!d || weight > WEIGHT_MAX)
		return -EINVAL;
	r->weight[d->type] += (uint32_t)weight;
	r->weights += weight;
	return 0;
}

static int set_types(struct recipe *r, const char *text)
{
	char *copy = strdup(text), *at = copy, *item;
	int err = copy ? 0 : -ENOMEM;

	memset(r->weight, 0, sizeof(r->weight));
	r->weights = 0;
	while (!err && (item = strsep(&at, "+")))
		err = add_type(r, item);
	free(copy);
	return err ? err : r->weights ? 0 : -EINVAL;
}

static int set_item(struct recipe *r, const char *key, const char *value)
{
	const struct {
		const char *key;
		uint64_t *to;
		uint64_t least, most;
	} numbers[] = {
		{"records", &r->records, 1, UINT64_MAX},  {"rate", &r->rate, 1, 1000000000},
		{"rings", &r->rings, 1, RINGS_MAX},	  {"user", &r->user, 0, RINGS_MAX},
		{"threads", &r->threads, 1, THREADS_MAX}, {"seed", &r->seed, 1, UINT64_MAX},
		{"lost", &r->lost, 0, UINT64_MAX},	  {"start", &r->start, 1, UINT64_MAX / 2},
	};
	size_t i;

	if (strcmp(key, "types") == 0)
		return set_types(r, value);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strcmp(key, numbers[i].key) != 0)
			continue;
		if (opt__parse_u64(value, numbers[i].to) || *numbers[i].to < numbers[i].least ||
		    *numbers[i].to > numbers[i].most)
			return -EINVAL;
		return 0;
	}
	return -EINVAL;
}

/* "key=value,..." */
static int parse_recipe(struct recipe *r, const char *text)
{
	char *copy = strdup(text), *at = copy, *item, *value;
	int err = copy ? 0 : -ENOMEM;

	*r = (struct recipe){.records = 100000,
			     .rate = 1000000,
			     .rings = 2,
			     .threads = 8,
			     .seed = 1,
			     .start = 1000000000};
	if (!err)
		err = set_types(r, DEFAULT_TYPES);
	while (!err && (item = strsep(&at, ","))) {
		if (!*item)
			continue;
		value = strchr(item, '=');
		if (value)
			*value++ = '\0';
		err = value ? set_item(r, item, value) : -EINVAL;
		if (err == -EINVAL)
			log_error("recipe '%s': '%s%s%s' is not understood (see "
				  "xpugap-record(1), --source)",
				  text, item, value ? "=" : "", value ? value : "");
	}
	free(copy);
	return err;
}

/* ---- records ---- */

static uint64_t fnv1a(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	while (*s)
		h = (h ^ (uint8_t)*s++) * 0x100000001b3ULL;
	return h;
}

/* A time span around @middle, with a tail. */
static uint64_t draw_span(struct source *s, uint64_t middle)
{
	uint64_t r = draw(s), v = middle / 2 + (r & 0xff) * middle / 256;

	if (r >> 32 & 0x3f)
		return v;
	return v + (r >> 40) % (16 * middle + 1);
}

static uint64_t draw_value(struct source *s, const struct record_field *f)
{
	uint64_t r = draw(s);

	switch (f->format) {
	case REC_FMT_TIME:
		return s->time_ns - draw_span(s, 20000);
	case REC_FMT_NS:
		return draw_span(s, 600);
	case REC_FMT_RET:
		return r % 50 ? 0 : (uint64_t)-11;
	case REC_FMT_HEX:
		return f->width == 8 ? 0x7ffd00001000 + r % 8 * 64 : 0xc0104600 + r % 8;
	case REC_FMT_DEV:
		return 195u << 20 | (uint32_t)(r % 4);
	case REC_FMT_MODE:
		return 0020666;
	case REC_FMT_NAME:
		return s->names[r % NAMES];
	case REC_FMT_TID:
		return FIRST_TID + r % s->recipe.threads;
	case REC_FMT_BYTES:
		return r % 64 * 4096;
	case REC_FMT_CHAR:
		return 'A' + r % 4;
	case REC_FMT_HOOK:
		return r % REC_HOOK_MAX;
	case REC_FMT_WHY:
	case REC_FMT_HOOK_STATE:
	case REC_FMT_ROW_STATE:
		return 1 + r % 2;
	case REC_FMT_CPU:
	case REC_FMT_DEC:
		return f->width == 8 ? s->made / 4 : r % 8;
	default:
		return r % 4;
	}
}

static void fill_field(struct source *s, void *rec, const struct record_field *f)
{
	char *at = (char *)rec + f->offset;
	uint64_t v;
	double real;

	if (f->format == REC_FMT_COMM) {
		snprintf(at, REC_COMM_LEN, "fake-%u", (unsigned int)(draw(s) % s->recipe.threads));
	} else if (f->format == REC_FMT_REAL) {
		real = (double)(draw(s) % 100000) / 100;
		memcpy(at, &real, sizeof(real));
	} else if (f->format != REC_FMT_PAD && !record_format__is_length(f->format)) {
		v = draw_value(s, f);
		memcpy(at, &v, f->width);
	}
}

static int append(struct source *s, uint16_t ring, const struct rec *rec)
{
	int err = trace_writer__append(s->writer, ring, rec);

	if (err)
		return err;
	s->stats.records++;
	s->stats.bytes += rec->size;
	return 0;
}

static int append_text(struct source *s, uint16_t ring, const struct rec *fixed,
		       const char *const *texts, unsigned int n)
{
	const struct rec *rec = record__build(s->buf, sizeof(s->buf), fixed, texts, n);

	return rec ? append(s, ring, rec) : -EINVAL;
}

static int make_record(struct source *s, const struct record_desc *d)
{
	static const char *const texts[] = {"made-up", "for tests", "only"};
	union {
		struct rec rec;
		struct rec_sched_switch sw;
		uint8_t bytes[512];
	} r = {.rec = {.type = d->type, .size = d->size, .time_ns = s->time_ns}};
	uint64_t cpu = draw(s) % s->recipe.rings, user;
	uint16_t ring = (uint16_t)cpu;
	unsigned int f;

	_Static_assert(sizeof(r) >= sizeof(struct rec_task), "the longest fixed part");
	for (f = 0; f < d->n_fields; f++)
		fill_field(s, &r, &d->fields[f]);
	r.rec.tid = s->current[cpu];
	if (d->hook == REC_HOOK_META) {
		ring = TRACE_RING_META;
		r.rec.tid = 0;
	} else if (d->hook == REC_HOOK_MARK && s->recipe.user) {
		user = draw(s) % s->recipe.user;
		ring = s->user_ring[user];
		r.rec.tid = (uint32_t)(FIRST_TID + user % s->recipe.threads);
	} else if (d->type == REC_SCHED_SWITCH) {
		s->current[cpu] = r.sw.next_tid;
	}
	return d->has_tail ? append_text(s, ring, &r.rec, texts, sizeof(texts) / sizeof(texts[0]))
			   : append(s, ring, &r.rec);
}

static const struct record_desc *draw_type(struct source *s)
{
	uint64_t x = draw(s) % s->recipe.weights;
	unsigned int type = 0;

	while (x >= s->recipe.weight[type])
		x -= s->recipe.weight[type++];
	return record__find((uint16_t)type);
}

static int make_loss(struct source *s)
{
	struct rec_lost lost = {
		.hdr = {.type = REC_LOST, .size = sizeof(lost), .time_ns = s->time_ns},
		.hook = REC_HOOK_SYSCALL,
		.cpu = (uint32_t)(draw(s) % s->recipe.rings),
		.why = REC_LOST_RING,
		.count = 1 + draw(s) % 10,
		.since_ns = s->time_ns - 1000000,
	};

	s->stats.lost += lost.count;
	return append(s, TRACE_RING_META, &lost.hdr);
}

static int make_next(struct source *s)
{
	uint64_t mean = 1000000000 / s->recipe.rate;
	int err;

	s->time_ns += draw(s) % (2 * mean + 1);
	err = make_record(s, draw_type(s));
	s->made++;
	if (!err && s->recipe.lost && s->made % s->recipe.lost == 0)
		err = make_loss(s);
	return err;
}

/* What the records name: strings, tasks. */
static int define_names(struct source *s)
{
	struct rec_name rec = {
		.hdr = {.type = REC_NAME, .size = sizeof(rec), .time_ns = s->time_ns}};
	char text[16];
	const char *const texts[] = {text};
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < NAMES; i++) {
		snprintf(text, sizeof(text), "name-%u", i);
		rec.id = s->names[i] = fnv1a(text);
		err = append_text(s, TRACE_RING_META, &rec.hdr, texts, 1);
	}
	return err;
}

static int define_tasks(struct source *s)
{
	struct rec_task rec = {
		.hdr = {.type = REC_TASK, .size = sizeof(rec), .time_ns = s->time_ns},
		.pid = FIRST_TID,
		.ppid = 1,
		.ns_pid = FIRST_TID,
		.flags = REC_TASK_TARGET,
		.start_ns = s->time_ns,
	};
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < s->recipe.threads; i++) {
		rec.hdr.tid = rec.ns_tid = FIRST_TID + i;
		snprintf(rec.comm, sizeof(rec.comm), "fake-%u", i);
		err = append(s, TRACE_RING_META, &rec.hdr);
	}
	return err;
}

/* ---- the source ---- */

static void fake_close(struct source *s)
{
	free(s);
}

static int fake_open(struct source **out, const struct source_ctx *ctx)
{
	struct source *s = calloc(1, sizeof(*s));
	int err;

	if (!s) {
		log_error("cannot make records: out of memory");
		return -ENOMEM;
	}
	s->text = ctx->input ? ctx->input : "";
	err = parse_recipe(&s->recipe, s->text);
	if (err) {
		free(s);
		return err;
	}
	s->writer = ctx->writer;
	s->pace = ctx->pace;
	s->random = s->recipe.seed;
	s->time_ns = s->recipe.start;
	*out = s;
	return 0;
}

static int fake_start(struct source *s)
{
	unsigned int i;
	int err, ring;

	for (i = 0; i < s->recipe.rings; i++)
		s->current[i] = (uint32_t)(FIRST_TID + i % s->recipe.threads);
	for (i = 0; i < s->recipe.user; i++) {
		ring = trace_writer__new_ring(s->writer);
		if (ring < 0)
			return ring;
		s->user_ring[i] = (uint16_t)ring;
	}
	s->shift_ns = hostclock__now() - s->time_ns;
	err = trace_writer__meta(s->writer, s->time_ns, "fake.recipe", s->text);
	if (!err)
		err = define_tasks(s);
	return err ? err : define_names(s);
}

static int fake_poll(struct source *s)
{
	uint64_t due = s->pace ? hostclock__now() - s->shift_ns : UINT64_MAX;
	int n, err;

	if (s->made == s->recipe.records)
		return -ENODATA;
	for (n = 0; n < RECORDS_A_POLL && s->made < s->recipe.records && s->time_ns <= due; n++) {
		err = make_next(s);
		if (err)
			return err;
	}
	return n;
}

static int fake_stop(struct source *s)
{
	s->recipe.records = s->made;
	return 0;
}

static void fake_stats(const struct source *s, struct source_stats *out)
{
	*out = s->stats;
}

static uint64_t fake_horizon(const struct source *s, uint64_t swept_ns)
{
	(void)swept_ns;
	return s->time_ns;
}

const struct source_ops source_fake = {
	.name = "fake",
	.summary = "made-up records by recipe, for tests",
	.open = fake_open,
	.start = fake_start,
	.poll = fake_poll,
	.stop = fake_stop,
	.stats = fake_stats,
	.close = fake_close,
	.horizon = fake_horizon,
};
