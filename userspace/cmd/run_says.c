// SPDX-License-Identifier: BSD-2-Clause
/* What a process of a row says: into its .data file, onto the progress line, and at the end. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/cmd/run_child.h"
#include "userspace/lib/column.h"
#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"
#include "workloads/suite/voir.h"

static const char *const stream_names[] = {"stdout", "stderr", "data"};

/* ---- what it says ---- */

static void keep_words(struct child *c, const char *line, size_t n)
{
	char **slot = &c->words[c->nwords++ % LAST_WORDS];

	while (n && line[n - 1] == '\n')
		n--;
	free(*slot);
	*slot = strndup(line, n < 400 ? n : 400);
}

static void take_payload(struct child *c, const struct voir_record *r)
{
	uint64_t now = hostclock__now();

	if (r->has_rate) {
		if (!c->observations)
			c->first_ns = now;
		else if (now - c->last_ns > c->step_ns)
			c->step_ns = now - c->last_ns;
		c->last_ns = now;
		c->observations++;
		c->rate = r->rate;
		memcpy(c->units, r->units, sizeof(c->units));
	}
	if (r->has_loss) {
		c->has_loss = true;
		c->loss = r->loss;
		c->nan = c->nan || isnan(r->loss);
	}
	if (r->has_progress) {
		c->done = r->done;
		c->wanted = r->wanted;
	}
}

/* Events of ours that are not for the file; true if it was one. */
static bool take_event(struct child *c, const struct voir_record *r)
{
	const char *text = json_string_value(json_object_get(r->data, "text"));
	const char *spec = json_string_value(json_object_get(r->data, "spec"));

	if (strcmp(r->event, "status") == 0 && text) {
		snprintf(c->activity, sizeof(c->activity), "%s", text);
		return true;
	}
	if (strcmp(r->event, "device") == 0 && spec) {
		if (!json_object_get(c->run->devices, spec)) {
			json_object_set(c->run->devices, spec, r->data);
			run_dir__write_machine(c->run);
		}
		return true;
	}
	return false;
}

static void take_line(void *arg, const char *line, size_t n)
{
	struct stream *s = arg;
	struct child *c = s->child;
	struct voir_record r;

	if (s->kind == STREAM_STDERR)
		keep_words(c, line, n);
	if (s->kind != STREAM_DATA) {
		datafile__line(c->data, stream_names[s->kind], line, n);
		return;
	}
	voir__parse(line, n, &r);
	if (r.kind == VOIR_DATA)
		take_payload(c, &r);
	if (r.kind != VOIR_EVENT || !take_event(c, &r))
		datafile__record(c->data, &r, line, n);
	voir__clear(&r);
}

void stream__end(struct stream *s)
{
	lines__end(&s->lines, take_line, s);
	lines__free(&s->lines);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* All that is there; a program that never stops talking does not keep us from the rest. */
void stream__read(struct stream *s)
{
	static char buf[1 << 16];
	int turns = 16;
	ssize_t n = 1;

	while (s->fd >= 0 && turns-- > 0) {
		n = read(s->fd, buf, sizeof(buf));
		if (n > 0 && lines__feed(&s->lines, buf, (size_t)n, take_line, s))
			log_warning("%s: out of memory: a line is kept in parts", s->child->tag);
		if (n == 0)
			stream__end(s);
		if (n < 0 && errno != EINTR)
			break;
	}
}

/* ---- how it goes and how it went ---- */

void child__say_timeout(const struct child *c, char *buf, size_t size)
{
	char limit[32];

	snprintf(buf, size, "took longer than --max-duration %s and was ended",
		 format__ns(limit, sizeof(limit), c->run->o->max_ns));
}

static double seconds_left(const struct child *c)
{
	double step = (double)(c->last_ns - c->first_ns) / (double)(c->observations - 1);

	return step * (double)(c->wanted + 1 - c->done) * 1e-9;
}

int child__progress(const struct child *c, char *buf, size_t size)
{
	char loss[32] = "", left[32] = "";

	if (c->ended) {
		snprintf(buf, size, "ended");
		return 100;
	}
	if (!c->observations) {
		snprintf(buf, size, "%s", *c->activity ? c->activity : "setup");
		return 0;
	}
	if (c->has_loss)
		snprintf(loss, sizeof(loss), ", loss %.4g", c->loss);
	if (c->done <= c->wanted && c->observations > 1)
		snprintf(left, sizeof(left), ", %.0f s left", seconds_left(c));
	snprintf(buf, size, "%" PRIu64 "/%" PRIu64 ", %.4g %s%s%s", c->done, c->wanted + 1, c->rate,
		 c->units, loss, left);
	return c->done > c->wanted ? 100 : (int)(c->done * 100 / (c->wanted + 1));
}

/* Milabench's rule: ended well, no NaN among the losses, at least one observation. */
bool child__judge(const struct child *c, char *reason, size_t size)
{
	int err = datafile__flush(c->data);

	*reason = '\0';
	if (c->stuck)
		snprintf(reason, size, "process %d hangs in the kernel and cannot be killed",
			 c->pid);
	else if (c->late)
		child__say_timeout(c, reason, size);
	else if (c->kill_ns && c->status)
		snprintf(reason, size, "was interrupted by you");
	else if (c->nan)
		snprintf(reason, size, "its loss is not a number (NaN)");
	else if (c->status)
		launch__describe(c->status, reason, size);
	else if (err)
		snprintf(reason, size,
			 "of its %" PRIu64 " observations %" PRIu64 " could be written: %s",
			 c->observations, datafile__observations(c->data), log__err(err));
	else if (!c->observations)
		snprintf(reason, size, "it reported no rate");
	return !*reason;
}

void child__say_words(const struct child *c)
{
	static const char prefix[] = "xpugap: ";
	size_t i = c->nwords > LAST_WORDS ? c->nwords - LAST_WORDS : 0;
	const char *word;

	for (; i < c->nwords; i++) {
		word = c->words[i % LAST_WORDS];
		if (!word)
			continue;
		if (strncmp(word, prefix, sizeof(prefix) - 1) == 0)
			word += sizeof(prefix) - 1;
		log_info("%s | %s", c->tag, word);
	}
}
