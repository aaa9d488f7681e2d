/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a benchmark says while it runs, in the words of Milabench's voir: JSON objects, one a
 * line, on the pipe whose number stands in DATA_FD.
 *
 *	{"task": "train", "rate": 812.5, "units": "items/s", "time": 1744747747.8, "elapsed": 0.3}
 *	{"task": "train", "loss": 6.9}
 *	{"task": "early_stop", "progress": [3, 60]}
 *	{"$event": "phase", "$data": {"name": "run_script"}}
 *
 * Numbers may be NaN, Infinity and -Infinity, which are no JSON but what Python writes.
 */
#ifndef XPUGAP_SUITE_VOIR_H
#define XPUGAP_SUITE_VOIR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the side that speaks: each call is one line and one write; 0 or -errno ---- */

struct voir_rate {
	double rate;
	const char *units;
	double time_s;	  /* since 1970, at the end of the step */
	double elapsed_s; /* that the step took */
};
/* Any bytes as a JSON string: what is no UTF-8 in them becomes U+FFFD. NULL: no memory. */
json_t *voir__text(const char *s);

int voir__rate(int fd, const struct voir_rate *r);
int voir__loss(int fd, double loss);
int voir__progress(int fd, uint64_t done, uint64_t wanted);
/* init, parse_args, load_script, run_script, finalize */
int voir__phase(int fd, const char *name);
/* The benchmark has all the observations that it wants. */
int voir__stop(int fd);
int voir__error(int fd, const char *type, const char *message);
/* Ours: what goes on before the first step. It is shown, not kept. */
int voir__status(int fd, const char *text);
/* Ours: another event with the members of @data, which is taken over. */
int voir__event(int fd, const char *event, json_t *data);

/* ---- the side that listens ---- */

enum voir_kind {
	VOIR_DATA,  /* a payload: goes on as it came */
	VOIR_EVENT, /* {"$event": event, "$data": data} */
	VOIR_BAD,   /* cannot be understood: type and message say why */
};

struct voir_record {
	enum voir_kind kind;
	char event[32];
	json_t *data; /* of an event; owned; NULL if there is none */
	const char *type;
	char message[160];
	/* what a payload says */
	bool has_rate, has_loss, has_progress;
	double rate, loss; /* loss may be NaN */
	char units[24];
	uint64_t done, wanted;
};

/* Understand one line, with or without its line feed. Release with voir__clear(). */
void voir__parse(const char *line, size_t n, struct voir_record *r);
void voir__clear(struct voir_record *r);

#endif
