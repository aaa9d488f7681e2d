// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/cmd/trigger.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/lib/map.h"
#include "userspace/lib/quantile.h"

#define MAX_OPS	  64
#define MAX_DEPTH 16 /* of parentheses */
#define MAX_UNIT  4  /* a time to that power */

enum op_kind {
	OP_NUMBER,
	OP_STEP,
	OP_P50,
	OP_P90,
	OP_MEAN,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_GT,
	OP_GE,
	OP_LT,
	OP_LE,
	OP_AND,
	OP_OR,
};

struct op {
	enum op_kind kind;
	double number;
};

/* What is known of the steps of a thread. */
struct thread {
	uint64_t last_ns;
	uint64_t step; /* that is under way; REC_NO_STEP: none is */
	struct quantile p50, p90;
	double mean;
	uint64_t n;
};

struct trigger {
	struct op ops[MAX_OPS]; /* operands before their operator */
	unsigned int n;
	bool of_before; /* it asks for p50, p90 or mean */
	struct map threads;
};

/* ---- parsing ---- */

/* What a part of the condition is: true or false, or a number of so many times in a product. */
struct type {
	bool truth;
	int power;
};

struct parser {
	struct trigger *t;
	const char *text, *at;
	unsigned int depth;
	char *why;
	size_t size;
};

static int __attribute__((format(printf, 2, 3))) complain(struct parser *p, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(p->why, p->size, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < p->size)
		snprintf(p->why + n, p->size - (size_t)n, " (at character %zu)",
			 (size_t)(p->at - p->text) + 1);
	return -EINVAL;
}

static void skip_space(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\t')
		p->at++;
}

static bool take(struct parser *p, const char *token)
{
	size_t n = strlen(token);

	skip_space(p);
	if (strncmp(p->at, token, n) != 0)
		return false;
	p->at += n;
	return true;
}

static int put(struct parser *p, enum op_kind kind, double number)
{
	struct trigger *t = p->t;

	if (t->n == MAX_OPS)
		return complain(p, "more than %d operands and operators", MAX_OPS);
	t->ops[t->n++] = (struct op){kind, number};
	return 0;
}

static int parse_unit(struct parser *p, double *number, struct type *type)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	const char *begin = p->at;
	size_t i, n;

	for (n = 0; isalnum((unsigned char)begin[n]) || begin[n] == '_'; n++)
		;
	if (!n)
		return 0;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) != n || memcmp(begin, units[i].name, n) != 0)
			continue;
		p->at += n;
		*number *= units[i].ns;
		type->power = 1;
		return 0;
	}
	return complain(p, "'%.*s' is none of the units ns, us, ms, s", (int)(n < 20 ? n : 20),
			begin);
}

/* Digits, perhaps with a point and more of them; strtod() would take much else. */
static int parse_number(struct parser *p, struct type *type)
{
	double number = 0, scale = 1;
	const char *begin = p->at;
	int err;

	for (; isdigit((unsigned char)*p->at); p->at++)
		number = number * 10 + (*p->at - '0');
	if (*p->at == '.')
		for (p->at++; isdigit((unsigned char)*p->at); p->at++)
			number += (*p->at - '0') * (scale /= 10);
	if (p->at - begin > 20 || p->at[-1] == '.' || *begin == '.') {
		p->at = begin;
		return complain(p, "a number is digits, and perhaps a point and digits");
	}
	err = parse_unit(p, &number, type);
	return err ? err : put(p, OP_NUMBER, number);
}

static int parse_name(struct parser *p, struct type *type)
{
	static const struct {
		const char *name;
		enum op_kind kind;
	} names[] = {{"step", OP_STEP}, {"p50", OP_P50}, {"p90", OP_P90}, {"mean", OP_MEAN}};
	const char *begin = p->at;
	size_t i, n;

	for (n = 0; isalnum((unsigned char)begin[n]) || begin[n] == '_'; n++)
		;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i].name) != n || memcmp(begin, names[i].name, n) != 0)
			continue;
		p->at += n;
		p->t->of_before |= names[i].kind != OP_STEP;
		type->power = 1;
		return put(p, names[i].kind, 0);
	}
	if (!n)
		return complain(p, *begin ? "step, p50, p90, mean or a number is missing"
					  : "it ends too early");
	return complain(p, "'%.*s' is none of step, p50, p90, mean", (int)(n < 20 ? n : 20), begin);
}

static int parse_condition(struct parser *p, struct type *type);

static int parse_operand(struct parser *p, struct type *type)
{
	int err;

	*type = (struct type){0};
	skip_space(p);
	if (isdigit((unsigned char)*p->at) || *p->at == '.')
		return parse_number(p, type);
	if (!take(p, "("))
		return parse_name(p, type);
	if (p->depth++ == MAX_DEPTH)
		return complain(p, "more than %d parentheses in each other", MAX_DEPTH);
	err = parse_condition(p, type);
	p->depth--;
	if (!err && !take(p, ")"))
		err = complain(p, "a ) is missing");
	return err;
}

static int parse_product(struct parser *p, struct type *type)
{
	int err = parse_operand(p, type);
	struct type right;
	bool times;

	while (!err && ((times = take(p, "*")) || take(p, "/"))) {
		err = parse_operand(p, &right);
		if (!err && (type->truth || right.truth))
			err = complain(p, "a condition is no number to multiply or divide");
		type->power += times ? right.power : -right.power;
		if (!err && abs(type->power) > MAX_UNIT)
			err = complain(p, "too many times are multiplied");
		if (!err)
			err = put(p, times ? OP_MUL : OP_DIV, 0);
	}
	return err;
}

static int check_alike(struct parser *p, const struct type *a, const struct type *b)
{
	if (a->truth || b->truth)
		return complain(p, "a condition is no number");
	if (a->power != b->power)
		return complain(p, "a time and what is none: give the number a unit (ms, s)");
	return 0;
}

static int parse_sum(struct parser *p, struct type *type)
{
	int err = parse_product(p, type);
	struct type right;
	bool plus;

	while (!err && ((plus = take(p, "+")) || take(p, "-"))) {
		err = parse_product(p, &right);
		if (!err)
			err = check_alike(p, type, &right);
		if (!err)
			err = put(p, plus ? OP_ADD : OP_SUB, 0);
	}
	return err;
}

static int parse_comparison(struct parser *p, struct type *type)
{
	static const char *const signs[] = {">=", "<=", ">", "<"};
	static const enum op_kind kinds[] = {OP_GE, OP_LE, OP_GT, OP_LT};
	int err = parse_sum(p, type);
	struct type right;
	size_t i;

	for (i = 0; !err && i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (!take(p, signs[i]))
			continue;
		err = parse_sum(p, &right);
		if (!err)
			err = check_alike(p, type, &right);
		*type = (struct type){.truth = true};
		return err ? err : put(p, kinds[i], 0);
	}
	return err;
}

/* Conditions joined by @sign, each parsed by @part. */
static int parse_joined(struct parser *p, struct type *type, const char *sign, enum op_kind kind,
			int (*part)(struct parser *p, struct type *type))
{
	int err = part(p, type);
	struct type right;

	while (!err && take(p, sign)) {
		err = part(p, &right);
		if (!err && !(type->truth && right.truth))
			err = complain(p, "%s joins conditions, such as step > 20ms", sign);
		if (!err)
			err = put(p, kind, 0);
	}
	return err;
}

static int parse_and(struct parser *p, struct type *type)
{
	return parse_joined(p, type, "&&", OP_AND, parse_comparison);
}

static int parse_condition(struct parser *p, struct type *type)
{
	return parse_joined(p, type, "||", OP_OR, parse_and);
}

static int parse(struct parser *p)
{
	struct type type = {0};
	int err = parse_condition(p, &type);

	skip_space(p);
	if (!err && *p->at)
		err = complain(p, "'%.10s' cannot follow", p->at);
	if (!err && !type.truth)
		err = complain(p, "it is no condition: compare it with something");
	return err;
}

struct trigger *trigger__new(const char *text, char *why, size_t size)
{
	struct trigger *t = calloc(1, sizeof(*t));
	struct parser p = {.t = t, .text = text, .at = text, .why = why, .size = size};
	int err;

	if (!t)
		return NULL;
	err = parse(&p);
	if (!err)
		return t;
	trigger__free(t);
	errno = -err;
	return NULL;
}

void trigger__free(struct trigger *t)
{
	struct map_slot *slot;

	if (!t)
		return;
	for (slot = map__next(&t->threads, NULL); slot; slot = map__next(&t->threads, slot))
		free(slot->value);
	map__free(&t->threads);
	free(t);
}

/* ---- evaluating ---- */

static double apply(enum op_kind kind, double a, double b)
{
	switch (kind) {
	case OP_ADD:
		return a + b;
	case OP_SUB:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_DIV:
		return a / b;
	case OP_GT:
		return a > b;
	case OP_GE:
		return a >= b;
	case OP_LT:
		return a < b;
	case OP_LE:
		return a <= b;
	case OP_AND:
		return a != 0 && b != 0;
	default:
		return a != 0 || b != 0;
	}
}

bool trigger__holds(const struct trigger *t, const struct trigger_values *v)
{
	double stack[MAX_OPS] = {0};
	unsigned int i, n = 0;

	for (i = 0; i < t->n; i++) {
		switch (t->ops[i].kind) {
		case OP_NUMBER:
			stack[n++] = t->ops[i].number;
			break;
		case OP_STEP:
			stack[n++] = v->step;
			break;
		case OP_P50:
			stack[n++] = v->p50;
			break;
		case OP_P90:
			stack[n++] = v->p90;
			break;
		case OP_MEAN:
			stack[n++] = v->mean;
			break;
		default: /* the parser put two operands before it */
			n--;
			stack[n - 1] = apply(t->ops[i].kind, stack[n - 1], stack[n]);
		}
	}
	return stack[0] != 0;
}

/* ---- steps ---- */

static struct thread *thread_of(struct trigger *t, uint32_t tid)
{
	struct thread *th = map__get(&t->threads, tid);

	if (th || t->threads.n >= TRIGGER_MAX_THREADS)
		return th;
	th = calloc(1, sizeof(*th));
	if (!th || map__put(&t->threads, tid, th)) {
		free(th);
		return NULL;
	}
	th->step = REC_NO_STEP;
	quantile__init(&th->p50, 0.5);
	quantile__init(&th->p90, 0.9);
	return th;
}

static void add(struct thread *th, double ns)
{
	quantile__add(&th->p50, ns);
	quantile__add(&th->p90, ns);
	th->n++;
	th->mean += (ns - th->mean) / (double)th->n;
}

static bool end_step(const struct trigger *t, struct thread *th, const struct rec *rec,
		     struct trigger_hit *hit)
{
	const bool warm = th->n >= TRIGGER_WARM_UP;
	const struct trigger_values v = {
		.step = (double)(rec->time_ns - th->last_ns),
		.p50 = quantile__value(&th->p50),
		.p90 = quantile__value(&th->p90),
		.mean = th->mean,
	};
	bool holds = (warm || !t->of_before) && trigger__holds(t, &v);

	*hit = (struct trigger_hit){
		.step = th->step,
		.step_ns = v.step,
		.p50_ns = warm ? v.p50 : NAN,
		.tid = rec->tid,
	};
	add(th, v.step);
	return holds;
}

bool trigger__step(struct trigger *t, const struct rec *rec, struct trigger_hit *hit)
{
	struct thread *th = thread_of(t, rec->tid);
	bool holds;

	if (!th)
		return false;
	holds = th->step != REC_NO_STEP && rec->time_ns >= th->last_ns && end_step(t, th, rec, hit);
	th->last_ns = rec->time_ns;
	th->step = ((const struct rec_mark_step *)rec)->step;
	return holds;
}
