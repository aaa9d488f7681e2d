// SPDX-License-Identifier: BSD-2-Clause
#include "workloads/suite/voir.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/lib/json.h"
#include "userspace/lib/text.h"

/* ---- speak ---- */

static int write_line(int fd, const char *text, size_t n)
{
	ssize_t done;

	while (n) {
		done = write(fd, text, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		text += done;
		n -= (size_t)done;
	}
	return 0;
}

static int emit(int fd, json_t *root)
{
	char *text = root ? json_dumps(root, JSON_ENSURE_ASCII) : NULL, *line = NULL;
	int n, err = -ENOMEM;

	n = text ? asprintf(&line, "%s\n", text) : -1;
	if (n >= 0) {
		err = write_line(fd, line, (size_t)n);
		free(line);
	}
	free(text);
	json_decref(root);
	return err;
}

json_t *voir__text(const char *s)
{
	size_t n = strlen(s), at = 0, len;
	char *text = malloc(3 * n + 1);
	json_t *string;

	if (!text)
		return NULL;
	for (; n; s += len, n -= len)
		at += utf8__encode(text + at, utf8__decode(s, n, &len));
	string = json_stringn(text, at);
	free(text);
	return string;
}

int voir__rate(int fd, const struct voir_rate *r)
{
	return emit(fd, json_pack("{s:s, s:f, s:s, s:f, s:f}", "task", "train", "rate", r->rate,
				  "units", r->units, "time", r->time_s, "elapsed", r->elapsed_s));
}

/* Milabench looks for a loss that is NaN, which JSON has no number for. */
int voir__loss(int fd, double loss)
{
	char line[96];
	const char *word = isnan(loss) ? "NaN" : loss > 0 ? "Infinity" : "-Infinity";
	int n;

	if (isfinite(loss))
		return emit(fd, json_pack("{s:s, s:f}", "task", "train", "loss", loss));
	n = snprintf(line, sizeof(line), "{\"task\": \"train\", \"loss\": %s}\n", word);
	return write_line(fd, line, (size_t)n);
}

int voir__progress(int fd, uint64_t done, uint64_t wanted)
{
	return emit(fd, json_pack("{s:s, s:[I, I]}", "task", "early_stop", "progress",
				  (json_int_t)done, (json_int_t)wanted));
}

int voir__event(int fd, const char *event, json_t *data)
{
	return emit(fd, json_pack("{s:s, s:o}", "$event", event, "$data", data));
}

int voir__phase(int fd, const char *name)
{
	return voir__event(fd, "phase", json_pack("{s:s}", "name", name));
}

int voir__stop(int fd)
{
	return voir__event(fd, "stop", json_null());
}

int voir__error(int fd, const char *type, const char *message)
{
	return voir__event(fd, "error",
			   json_pack("{s:s, s:o}", "type", type, "message", voir__text(message)));
}

int voir__status(int fd, const char *text)
{
	return voir__event(fd, "status", json_pack("{s:o}", "text", voir__text(text)));
}

/* ---- listen ---- */

static void complain(struct voir_record *r, const char *type, const char *message)
{
	r->kind = VOIR_BAD;
	r->type = type;
	snprintf(r->message, sizeof(r->message), "%s", message);
}

static json_t *decode(const char *line, size_t n, struct voir_record *r)
{
	char *text = json__from_python(line, n, false, &n); /* null is what jansson can read */
	json_error_t error;
	json_t *root = NULL;

	if (!text) {
		complain(r, "MemoryError", "out of memory");
		return NULL;
	}
	root = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	if (!root)
		complain(r, "JSONDecodeError", error.text);
	free(text);
	return root;
}

static double number(const json_t *v)
{
	return json_is_number(v) ? json_number_value(v) : NAN;
}

static void take_values(const json_t *root, struct voir_record *r)
{
	const json_t *rate = json_object_get(root, "rate"), *loss = json_object_get(root, "loss");
	const json_t *units = json_object_get(root, "units");
	const json_t *progress = json_object_get(root, "progress");

	r->has_rate = json_is_number(rate);
	r->rate = number(rate);
	r->has_loss = json_is_number(loss) || json_is_null(loss);
	r->loss = number(loss);
	if (json_is_string(units))
		snprintf(r->units, sizeof(r->units), "%s", json_string_value(units));
	if (json_is_integer(json_array_get(progress, 0)) &&
	    json_is_integer(json_array_get(progress, 1))) {
		r->has_progress = true;
		r->done = (uint64_t)json_integer_value(json_array_get(progress, 0));
		r->wanted = (uint64_t)json_integer_value(json_array_get(progress, 1));
	}
}

void voir__parse(const char *line, size_t n, struct voir_record *r)
{
	const json_t *event;
	json_t *root;

	memset(r, 0, sizeof(*r));
	while (n && isspace((unsigned char)line[n - 1]))
		n--;
	root = decode(line, n, r);
	if (!root)
		return;
	event = json_object_get(root, "$event");
	if (!json_is_object(root)) {
		complain(r, "TypeError", "not an object");
	} else if (!event) {
		r->kind = VOIR_DATA;
		take_values(root, r);
	} else if (!json_is_string(event) || json_string_length(event) >= sizeof(r->event) ||
		   json_string_length(event) == 0) {
		complain(r, "TypeError", "$event is no name");
	} else {
		r->kind = VOIR_EVENT;
		snprintf(r->event, sizeof(r->event), "%s", json_string_value(event));
		r->data = json_incref(json_object_get(root, "$data"));
	}
	json_decref(root);
}

void voir__clear(struct voir_record *r)
{
	json_decref(r->data);
	r->data = NULL;
}
