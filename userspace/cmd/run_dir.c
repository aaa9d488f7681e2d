// SPDX-License-Identifier: BSD-2-Clause
/* The directory of a run: what was asked, where it ran, how it went. */
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <jansson.h>
#include <jpeglib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "analysis/milabench.h"
#include "userspace/cmd/run.h"
#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"
#include "userspace/lib/machine.h"
#include "workloads/suite/options.h"
#include "workloads/suite/voir.h"

#define STR_(x) #x
#define STR(x)	STR_(x)

/* ---- the directory ---- */

/* What a run writes; --force removes these and nothing else. */
static const char *const ours[] = {"*.data",	   "trace.xpt",	   "config.json",
				   "machine.json", "summary.json", "*.json.part"};

static bool is_ours(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (fnmatch(ours[i], name, FNM_PERIOD) == 0)
			return true;
	return false;
}

/* Remove results of an earlier run. 0 or -errno, printed. */
static int clear_dir(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int err = 0;

	if (!dir) {
		err = -errno;
		log_error("cannot list '%s': %s", path, log__err(err));
		return err;
	}
	while (!err && (d = readdir(dir)))
		if (is_ours(d->d_name) && unlinkat(dirfd(dir), d->d_name, 0) < 0) {
			err = -errno;
			log_error("cannot remove '%s/%s': %s", path, d->d_name, log__err(err));
		}
	closedir(dir);
	return err;
}

/* 1: yes, 0: no, -errno */
static int is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int empty = 1;

	if (!dir)
		return -errno;
	while (empty && (d = readdir(dir)))
		empty = strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0;
	closedir(dir);
	return empty;
}

static int make_parents(char *path)
{
	char *slash = path;

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* runs/NAME.DATE; "-2" and so on behind it where that is taken */
static int make_default_dir(struct run *r)
{
	const char *name = r->nrows == 1 ? r->rows[0].workload->name : "suite";
	char date[32];
	time_t now = time(NULL);
	struct tm tm;
	int i, err = 0;

	strftime(date, sizeof(date), "%Y-%m-%d_%H-%M-%S", localtime_r(&now, &tm));
	for (i = 1; i < 100; i++) {
		free(r->dir);
		if ((i == 1 ? asprintf(&r->dir, "runs/%s.%s", name, date)
			    : asprintf(&r->dir, "runs/%s.%s-%d", name, date, i)) < 0) {
			r->dir = NULL;
			return -ENOMEM;
		}
		err = make_parents(r->dir);
		if (!err)
			err = mkdir(r->dir, 0755) < 0 ? -errno : 0;
		if (err != -EEXIST)
			break;
	}
	r->made_dir = !err;
	return err;
}

static int make_named_dir(struct run *r)
{
	int err, empty;

	r->dir = strdup(r->o->output);
	if (!r->dir)
		return -ENOMEM;
	while (strlen(r->dir) > 1 && r->dir[strlen(r->dir) - 1] == '/')
		r->dir[strlen(r->dir) - 1] = '\0';
	err = make_parents(r->dir);
	if (err)
		return err;
	r->made_dir = mkdir(r->dir, 0755) == 0;
	if (r->made_dir)
		return 0;
	if (errno != EEXIST)
		return -errno;
	empty = is_empty(r->dir);
	if (empty != 0)
		return empty < 0 ? empty : 0;
	r->replaces = r->o->force;
	return r->replaces ? 0 : -ENOTEMPTY;
}

int run_dir__create(struct run *r)
{
	int err;

	err = caller__files_as(&r->caller);
	if (!err)
		err = r->o->output ? make_named_dir(r) : make_default_dir(r);
	caller__files_as(NULL);
	if (err == -ENOTEMPTY)
		log_error("'%s' exists and is not empty (--force replaces the results in it)",
			  r->dir);
	else if (err)
		log_error("cannot create '%s': %s", r->dir ? r->dir : "runs", log__err(err));
	return err;
}

int run_dir__replace(struct run *r)
{
	int err = r->replaces ? clear_dir(r->dir) : 0;

	return err ? err : output__replace(&r->trace);
}

/* ---- JSON files: whole or not at all ---- */

static int commit(FILE *f, const char *part, const char *path, int err)
{
	if (f && fclose(f) != 0 && !err)
		err = -errno;
	if (!err && rename(part, path) < 0)
		err = -errno;
	if (err) {
		log_error("cannot write '%s': %s", path, log__err(err));
		unlink(part);
	}
	return err;
}

static FILE *open_part(const struct run *r, const char *name, char part[4096], char path[4096])
{
	snprintf(path, 4096, "%.4000s/%s", r->dir, name);
	snprintf(part, 4096, "%.4000s/%s.part", r->dir, name);
	return fopen(part, "we");
}

/* @root is taken over. */
static int write_json(const struct run *r, const char *name, json_t *root)
{
	char part[4096], path[4096];
	FILE *f = open_part(r, name, part, path);
	int err = f ? 0 : -errno;

	if (!err && !root)
		err = -ENOMEM;
	if (!err && (json_dumpf(root, f, JSON_INDENT(2)) < 0 || fputc('\n', f) < 0))
		err = errno ? -errno : -EIO;
	json_decref(root);
	return commit(f, part, path, err);
}

static json_t *strings(const struct opt_list *list)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < list->n; i++)
		json_array_append_new(array, voir__text(list->items[i]));
	return array;
}

static uint64_t stop_of(const struct run *r, const struct workload *w)
{
	return r->o->stop ? r->o->stop : w->stop[r->o->size];
}

static json_t *rows_json(const struct run *r)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < r->nrows; i++) {
		const struct workload *w = r->rows[i].workload;

		json_array_append_new(array,
				      json_pack("{s:s, s:s, s:s, s:f, s:I, s:o}", "name", w->name,
						"group", w->group, "unit", w->unit, "weight",
						w->weight, "stop", (json_int_t)stop_of(r, w),
						"options",
						workload__options_json(w, r->rows[i].values)));
	}
	return array;
}

int run_dir__write_config(const struct run *r)
{
	const struct run_opts *o = r->o;
	json_t *words = json_array();
	int i;

	for (i = 0; i < r->argc; i++)
		json_array_append_new(words, voir__text(r->argv[i]));
	return write_json(r, "config.json",
			  json_pack("{s:s, s:f, s:o, s:o, s:o, s:s, s:I, s:I, s:I, s:o, s:b, s:b}",
				    "version", XPUGAP_VERSION, "date", hostclock__date(), "asked",
				    words, "workloads", rows_json(r), "devices",
				    strings(&o->devices), "size", workload_sizes[o->size], "repeat",
				    (json_int_t)o->repeat, "seed", (json_int_t)o->seed,
				    "max_duration_ns", (json_int_t)o->max_ns, "data_dir",
				    voir__text(r->data_dir), "verify", o->verify, "trace",
				    r->recorder != NULL));
}

/* ---- the machine ---- */

int run_dir__write_machine(const struct run *r)
{
	struct machine m;
	json_t *cpu, *kernel, *libraries;

	machine__get(&m);
	cpu = json_pack("{s:o, s:i, s:i, s:i, s:i, s:s}", "model", voir__text(m.cpu), "online",
			(int)m.cpus, "allowed", (int)m.allowed, "cores", (int)m.cores, "sockets",
			(int)m.sockets, "governor", m.governor);
	kernel = json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", m.kernel.sysname, "release",
			   m.kernel.release, "version", m.kernel.version, "machine",
			   m.kernel.machine, "clocksource", m.clocksource);
	libraries =
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "glibc", gnu_get_libc_version(), "libbpf",
			  libbpf_version_string(), "libjpeg-turbo", STR(LIBJPEG_TURBO_VERSION),
			  "jansson", JANSSON_VERSION, "zstd", ZSTD_versionString());
	return write_json(r, "machine.json",
			  json_pack("{s:s, s:f, s:o, s:o, s:I, s:i, s:o, s:o, s:o, s:O}", "xpugap",
				    XPUGAP_VERSION, "date", hostclock__date(), "host",
				    voir__text(m.kernel.nodename), "cpu", cpu, "memory_bytes",
				    (json_int_t)m.memory_bytes, "memory_nodes", (int)m.nodes,
				    "kernel", kernel, "distribution", voir__text(m.distro),
				    "libraries", libraries, "devices", r->devices));
}

/* As Milabench describes a machine; processors are no accelerators. */
json_t *run_dir__meta(void)
{
	struct machine m;

	machine__get(&m);
	return json_pack("{s:{s:i, s:o}, s:{s:s, s:o, s:s, s:s, s:s}, s:{s:s, s:{}}, s:f, s:{s:s}}",
			 "cpu", "count", (int)m.cpus, "brand", voir__text(m.cpu), "os", "sysname",
			 m.kernel.sysname, "nodename", voir__text(m.kernel.nodename), "release",
			 m.kernel.release, "version", m.kernel.version, "machine", m.kernel.machine,
			 "accelerators", "arch", "cpu", "gpus", "date", hostclock__date(), "xpugap",
			 "version", XPUGAP_VERSION);
}

static json_t *tag_json(const char *const *tag, size_t n)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(array, voir__text(tag[i]));
	return array;
}

json_t *run_dir__config(const struct run *r, const struct child_job *job, const char *const *tag,
			size_t ntag)
{
	const struct workload *w = job->row->workload;
	const char *name = strrchr(r->dir, '/');
	json_t *config, *argv = workload__options_json(w, job->row->values);
	const char *kind = strchrnul(job->device, ':');
	json_int_t seed = (json_int_t)r->o->seed + (json_int_t)job->repeat;

	config = json_pack("{s:{s:s#}, s:s, s:o, s:{s:i}, s:b, s:f, s:i, s:f}", "system", "arch",
			   job->device, (int)(kind - job->device), "group", w->group, "run_name",
			   voir__text(name ? name + 1 : r->dir), "capabilities", "nodes", 1,
			   "enabled", 1, "max_duration", (double)r->o->max_ns * 1e-9,
			   "num_machines", 1, "weight", w->weight);
	if (!config)
		return NULL;
	json_object_set_new(config, "voir",
			    json_pack("{s:{s:I, s:s}}", "options", "stop",
				      (json_int_t)stop_of(r, w), "interval", "1s"));
	json_object_set_new(config, "plan", json_pack("{s:s}", "method", "per_gpu"));
	json_object_set_new(config, "argv", argv);
	json_object_set_new(config, "name", voir__text(tag[0]));
	json_object_set_new(config, "tag", tag_json(tag, ntag));
	json_object_set_new(config, "device", json_integer(job->index));
	json_object_set_new(config, "devices", json_pack("[i]", job->index));
	json_object_set_new(config, "env", json_object());
	json_object_set_new(config, "xpugap",
			    json_pack("{s:o, s:s, s:I, s:I}", "device", voir__text(job->device),
				      "size", workload_sizes[r->o->size], "seed", seed, "repeat",
				      (json_int_t)job->repeat));
	return config;
}

/* ---- the summary ---- */

static int write_summary(const struct run *r, const struct milabench *m)
{
	char part[4096], path[4096];
	FILE *f = open_part(r, "summary.json", part, path);
	int err = f ? milabench__write_summary(m, f) : -errno;

	return commit(f, part, path, err);
}

int run_dir__summarise(const struct run *r)
{
	struct milabench *m = milabench__new();
	int err = m ? 0 : -ENOMEM;

	if (err)
		log_error("out of memory");
	if (!err)
		err = milabench__read_dir(m, r->dir);
	if (!err)
		err = milabench__finish(m);
	if (!err)
		err = write_summary(r, m);
	/* where nothing was measured a table has nothing but nan */
	if (!err && (r->observations || r->failed < r->finished)) {
		milabench__print(m, stdout);
		err = milabench__print_steps(m, stdout);
	}
	milabench__free(m);
	return err;
}
