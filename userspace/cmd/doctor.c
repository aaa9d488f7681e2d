// SPDX-License-Identifier: BSD-2-Clause
/* xpugap doctor: what this machine and these rights allow to be seen, and what to do about it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/feature.h"
#include "userspace/lib/column.h"
#include "userspace/lib/log.h"
#include "userspace/source/hooks.h"
#include "userspace/source/probe.h"
#include "userspace/source/sideband.h"
#include "workloads/device/device.h"

struct doctor_opts {
	bool json;
};

static const struct opt rows[] = {
	{"json", 0, OPT_FLAG, NULL, "print JSON", OPT_OFFSET(doctor_opts, json)},
	{0},
};

#define MAX_ROWS 128

struct row {
	const char *kind; /* machine, hook, device */
	const char *name;
	const char *state;
	const char *found;
	const char *what;
	const char *why;
	const char *remedy;
	struct feature_result result;
};

static const struct column columns[] = {
	{"kind", "KIND", COL_STR, -7, 0, offsetof(struct row, kind)},
	{"name", "NAME", COL_STR, -8, 0, offsetof(struct row, name)},
	{"state", "STATE", COL_STR, -7, 0, offsetof(struct row, state)},
	{"found", "FOUND", COL_STR, -1, 0, offsetof(struct row, found)},
	{"what", NULL, COL_STR, 0, 0, offsetof(struct row, what)},
	{"why", NULL, COL_STR, 0, 0, offsetof(struct row, why)},
	{"remedy", NULL, COL_STR, 0, 0, offsetof(struct row, remedy)},
};

#define TEXT_COLUMNS 4 /* the rest is for JSON */

static const char *const state_names[] = {"ok", "limited", "missing"};

static void finish_row(struct row *r)
{
	r->state = state_names[r->result.state];
	r->found = r->result.found;
	r->remedy = r->result.remedy;
}

static size_t add_features(struct row *r, const struct kernel_facts *k)
{
	const struct feature *f;
	size_t n = 0;

	for (f = features; f->name; f++, n++) {
		r[n] = (struct row){.kind = "machine",
				    .name = f->name,
				    .what = f->what,
				    .why = f->why};
		f->probe(k, &r[n].result);
		finish_row(&r[n]);
	}
	return n;
}

static enum feature_state state_of(const struct probe *p, const struct hook_report *report)
{
	if (report->state == REC_HOOK_REFUSED || hook_report__leaves_out(report, p->name))
		return FEATURE_MISSING;
	return report->state == REC_HOOK_ATTACHED ? FEATURE_OK : FEATURE_LIMITED;
}

static void tell_hook(struct row *r, const struct probe *p, const struct hook_report *report)
{
	struct feature_result *res = &r->result;

	*r = (struct row){.kind = "hook",
			  .name = p->name,
			  .what = p->what,
			  .why = "without it no report says anything about this"};
	res->state = state_of(p, report);
	if (report->state == REC_HOOK_OFF)
		r->why = "reports say nothing about it, as there is nothing";
	else if (res->state == FEATURE_LIMITED)
		r->why = "of this, reports do not tell what is named here";
	if (report->state == REC_HOOK_OFF)
		snprintf(res->found, sizeof(res->found), "nothing to see here");
	else if (res->state == FEATURE_MISSING)
		snprintf(res->found, sizeof(res->found), "no way works");
	else
		snprintf(res->found, sizeof(res->found), "by %s (rung %u)", report->way,
			 report->rung);
	snprintf(res->remedy, sizeof(res->remedy), "%s", report->reason);
	finish_row(r);
}

/* Each hook is loaded and attached as a recording would, and let go at once. */
static size_t add_hooks(struct row *r)
{
	/* the last is there on every kernel: a machine without a PMU lacks some, not all */
	static const char *const counters[] = {"cycles",	"instructions", "cache-misses",
					       "branch-misses", "page-faults",	NULL};
	const char *names[MAX_ROWS];
	const struct hook_report *report;
	struct hook_report sideband;
	const struct probe *p;
	struct hooks *h;
	size_t n = 0;

	for (p = probe_table; p->name; p++)
		names[n++] = p->name;
	names[n] = NULL;
	n = 0;
	h = hooks__new(&(struct hooks_opts){.probes = names, .args.events = counters});
	if (!h)
		return 0;
	hooks__attach(h);
	source_sideband__probe(&sideband);
	for (p = probe_table; p->name; p++) {
		report = p->hook == REC_HOOK_SIDEBAND ? &sideband : hooks__probe_report(h, p);
		if (report) /* marks need no way into the kernel */
			tell_hook(&r[n++], p, report);
	}
	hooks__free(h);
	return n;
}

static size_t add_devices(struct row *r)
{
	size_t n;
	int err;

	for (n = 0; devices[n]; n++) {
		struct feature_result *res = &r[n].result;

		r[n] = (struct row){.kind = "device",
				    .name = devices[n]->name,
				    .what = devices[n]->summary,
				    .why = "'xpugap run' can use it"};
		err = devices[n]->probe(res->remedy, sizeof(res->remedy));
		res->state = err ? FEATURE_MISSING : FEATURE_OK;
		if (!err)
			*res->remedy = '\0';
		snprintf(res->found, sizeof(res->found), "%s", err ? "cannot be used" : "usable");
		finish_row(&r[n]);
	}
	return n;
}

static bool same_lack(const struct row *a, const struct row *b)
{
	return a->result.state != FEATURE_OK && b->result.state != FEATURE_OK &&
	       strcmp(a->kind, b->kind) == 0 && strcmp(a->why, b->why) == 0 &&
	       strcmp(a->remedy, b->remedy) == 0;
}

/* With one before it that lacks the same? */
static bool is_told(const struct row *r, size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (same_lack(&r[k], &r[i]))
			return true;
	return false;
}

/* What is not as it should be, with the reason to care and what to do. */
static void print_remedies(const struct row *r, size_t n)
{
	bool head = false;
	size_t i, k;

	for (i = 0; i < n; i++) {
		if (r[i].result.state == FEATURE_OK || is_told(r, i))
			continue;
		if (!head)
			fputs("\nwhat to do:\n", stdout);
		head = true;
		printf("  %s %s", r[i].kind, r[i].name);
		for (k = i + 1; k < n; k++)
			if (same_lack(&r[i], &r[k]))
				printf(", %s", r[k].name);
		printf(": %s%s%s\n", r[i].why, *r[i].remedy ? "\n      " : "", r[i].remedy);
	}
}

static int run(const void *values, int argc, char **argv)
{
	const struct doctor_opts *o = values;
	struct row *r = calloc(MAX_ROWS, sizeof(*r));
	struct kernel_facts *k = calloc(1, sizeof(*k));
	size_t n = 0, i, ncols = sizeof(columns) / sizeof(columns[0]);
	int status = EXIT_FAILED, err;

	if (argc) {
		log_error("doctor takes no operands, not '%s'", argv[0]);
		status = EXIT_USAGE;
		goto out;
	}
	if (!r || !k)
		goto out;
	kernel_facts__get(k);
	n += add_features(r + n, k);
	n += add_hooks(r + n);
	n += add_devices(r + n);
	err = table__print(stdout, o->json ? TABLE_JSON : TABLE_TEXT, columns,
			   o->json ? ncols : TEXT_COLUMNS, r, n, sizeof(*r), NULL);
	if (err)
		goto out;
	if (!o->json)
		print_remedies(r, n);
	status = EXIT_OK;
	for (i = 0; i < n; i++)
		if (strcmp(r[i].kind, "hook") == 0 && r[i].result.state == FEATURE_MISSING)
			status = EXIT_FAILED;
out:
	free(r);
	free(k);
	return status;
}

static const struct cmd_example examples[] = {
	{"what would be recorded as root, and as yourself", "sudo xpugap doctor; xpugap doctor"},
	{"in a script", "xpugap doctor --json"},
	{0},
};

const struct cmd cmd_doctor = {
	.name = "doctor",
	.summary = "what this machine and your rights allow to be seen",
	.operands = "",
	.description =
		"Tries everything that a recording needs and says for each what was found, why it "
		"matters, and what to do where it is missing. Hooks are loaded and attached for a "
		"moment as a recording would, in the best way that works: rung 0 is the best there "
		"is, later ones see less or cost more.",
	.opts = rows,
	.opts_size = sizeof(struct doctor_opts),
	.examples = examples,
	.exit_status = "1 if some hook cannot be attached in any way.",
	.see_also = "xpugap-record(1)",
	.run = run,
};
