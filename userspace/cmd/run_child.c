// SPDX-License-Identifier: BSD-2-Clause
/* The life of a process of a row: how it starts and, in one way or another, ends. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/cmd/run_child.h"
#include "userspace/lib/hostclock.h"
#include "userspace/lib/log.h"
#include "userspace/trace/records.h"
#include "workloads/suite/harness.h"
#include "workloads/suite/options.h"

#define SECOND	       1000000000ULL
#define SETUP_PATIENCE (10 * SECOND)
#define PATIENCE       (10 * SECOND) /* with a process that SIGKILL does not end */

/* ---- start ---- */

static int add_arg(struct child *c, char *arg)
{
	if (!arg || c->nargs + 1 >= ARGS_MAX) {
		free(arg);
		return arg ? -E2BIG : -ENOMEM;
	}
	c->args[c->nargs++] = arg;
	return 0;
}

static int __attribute__((format(printf, 2, 3))) add_fmt(struct child *c, const char *fmt, ...)
{
	char *arg = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&arg, fmt, ap);
	va_end(ap);
	return add_arg(c, n < 0 ? NULL : arg);
}

static int build_command(struct child *c)
{
	const struct run_opts *o = c->run->o;
	const struct workload *w = c->job.row->workload;
	size_t i;
	char *arg;
	int err;

	err = add_fmt(c, "%s", c->run->exe) ?: add_fmt(c, "workload") ?: add_fmt(c, "%s", w->name);
	err = err ?: add_fmt(c, "--device=%s", c->job.device);
	err = err ?: add_fmt(c, "--size=%s", workload_sizes[o->size]);
	err = err ?: add_fmt(c, "--stop=%" PRIu64, o->stop ? o->stop : w->stop[o->size]);
	err = err ?: add_fmt(c, "--seed=%" PRIu64, o->seed + c->job.repeat);
	err = err ?: add_fmt(c, "--max-duration=%" PRIu64 "ns", o->max_ns);
	err = err ?: add_fmt(c, "--data-dir=%s", c->run->data_dir);
	if (!err && o->verify)
		err = add_fmt(c, "--verify");
	for (i = 0; i < o->others.n && !err; i++) {
		arg = workload__argument(w, o->others.items[i]);
		err = arg ? add_arg(c, arg) : 0;
	}
	return err;
}

static json_t *command_json(const struct child *c)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < c->nargs; i++)
		json_array_append_new(array, voir__text(c->args[i]));
	return array;
}

/* Are there devices of different kinds? "cpu:0" and "cpu:1" are of one. */
static bool are_mixed(const struct opt_list *list)
{
	size_t i, len = strcspn(list->items[0], ":");

	for (i = 1; i < list->n; i++)
		if (strcspn(list->items[i], ":") != len ||
		    strncmp(list->items[i], list->items[0], len) != 0)
			return true;
	return false;
}

/* Milabench pools what has one name: devices of different kinds are rows of their own. */
static void name_bench(const struct run *r, const struct child_job *job, char *buf, size_t size)
{
	if (are_mixed(&r->o->devices))
		snprintf(buf, size, "%s-%.*s", job->row->workload->name,
			 (int)strcspn(job->device, ":"), job->device);
	else
		snprintf(buf, size, "%s", job->row->workload->name);
}

static int open_data(struct child *c)
{
	const struct child_job *job = &c->job;
	char bench[128], device[16], repeat[24], path[4096];
	const char *tag[3] = {bench};
	size_t n = 2;

	name_bench(c->run, job, bench, sizeof(bench));

	snprintf(device, sizeof(device), "D%u", job->index);
	tag[1] = device;
	if (c->run->o->repeat > 1) {
		snprintf(repeat, sizeof(repeat), "R%" PRIu64, job->repeat);
		tag[n++] = repeat;
	}
	snprintf(c->tag, sizeof(c->tag), "%s.%s%s%s", tag[0], device, n > 2 ? "." : "",
		 n > 2 ? repeat : "");
	if ((size_t)snprintf(path, sizeof(path), "%s/%s.data", c->run->dir, c->tag) >= sizeof(path))
		return -ENAMETOOLONG;
	c->data = datafile__new(path);
	if (!c->data)
		return -errno;
	datafile__event(c->data, "config", run_dir__config(c->run, job, tag, n), NULL);
	datafile__event(c->data, "meta", run_dir__meta(), NULL);
	datafile__event(c->data, "start",
			json_pack("{s:o, s:f}", "command", command_json(c), "time",
				  hostclock__date()),
			NULL);
	return datafile__flush(c->data);
}

static int open_pipes(struct child *c, int theirs[STREAMS])
{
	int fds[2], i;

	for (i = 0; i < STREAMS; i++) {
		if (pipe2(fds, O_CLOEXEC) < 0)
			return -errno;
		c->streams[i].fd = fds[0];
		theirs[i] = fds[1];
		if (fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0)
			return -errno;
	}
	/* the number stands in DATA_FD: it stays open in the program, and in that one only */
	return fcntl(theirs[STREAM_DATA], F_SETFD, 0) < 0 ? -errno : 0;
}

/* DATA_FD and what the recorder wants; NULL: no memory. */
static const char **build_env(const struct child *c, const char *data_fd)
{
	const char *const *more = c->run->recorder ? recorder__env(c->run->recorder) : NULL;
	const char **env;
	size_t n = 0, i;

	while (more && more[n])
		n++;
	env = calloc(n + 2, sizeof(*env));
	if (!env)
		return NULL;
	env[0] = data_fd;
	for (i = 0; i < n; i++)
		env[i + 1] = more[i];
	return env;
}

static int fork_child(struct child *c, const int theirs[STREAMS])
{
	struct launch_opts lopts = {
		.argv = c->args,
		.out_fd = theirs[STREAM_STDOUT],
		.err_fd = theirs[STREAM_STDERR],
		.mask = &c->run->mask,
		.group = true,
	};
	char data_fd[24];
	const char **env;

	snprintf(data_fd, sizeof(data_fd), "DATA_FD=%d", theirs[STREAM_DATA]);
	env = build_env(c, data_fd);
	if (!env)
		return -ENOMEM;
	lopts.env = env;
	c->launch = launch__new(&lopts);
	free(env);
	if (!c->launch)
		return -errno;
	c->pid = launch__pid(c->launch);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd < 0 ? -errno : 0;
}

static int watch(struct child *c)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
	int i;

	for (i = 0; i < STREAMS; i++)
		if (epoll_ctl(c->run->epoll_fd, EPOLL_CTL_ADD, c->streams[i].fd, &ev) < 0)
			return -errno;
	return epoll_ctl(c->run->epoll_fd, EPOLL_CTL_ADD, c->pidfd, &ev) < 0 ? -errno : 0;
}

static void record_row(const struct child *c, uint32_t state)
{
	const char *const texts[] = {c->job.row->workload->name, c->job.device};
	const struct rec_row row = {
		.hdr = {.type = REC_ROW, .tid = (uint32_t)c->pid},
		.pid = (uint32_t)c->pid,
		.state = state,
		.status = c->status,
		.repeat = (uint32_t)c->job.repeat,
	};
	uint64_t buf[512]; /* a device is what the user typed: its beginning will do */

	if (c->run->recorder)
		recorder__append(c->run->recorder,
				 record__build(buf, sizeof(buf), &row.hdr, texts, 2));
}

/* The child exists, but is not the program yet. A row that began ends, also if it never is. */
static int let_go(struct child *c)
{
	int err = 0;

	if (c->run->recorder)
		err = recorder__add(c->run->recorder, c->pid);
	if (err)
		return err;
	record_row(c, REC_ROW_BEGIN);
	c->begin_ns = hostclock__now();
	err = launch__exec(c->launch);
	if (err) {
		c->status = W_EXITCODE(127, 0);
		record_row(c, REC_ROW_END);
	}
	return err;
}

/* ---- end ---- */

static void write_end(struct child *c, json_t *return_code)
{
	datafile__event(c->data, "end",
			json_pack("{s:o, s:f, s:o}", "command", command_json(c), "time",
				  hostclock__date(), "return_code", return_code),
			NULL);
}

static void write_error(struct child *c, const char *type, const char *message)
{
	datafile__event(c->data, "error",
			json_pack("{s:s, s:o}", "type", type, "message", voir__text(message)),
			"data");
}

static void child__free(struct child *c)
{
	size_t i;

	for (i = 0; i < STREAMS; i++) {
		lines__free(&c->streams[i].lines);
		if (c->streams[i].fd >= 0)
			close(c->streams[i].fd);
	}
	if (c->pidfd >= 0)
		close(c->pidfd);
	launch__free(c->launch);
	if (datafile__close(c->data) && !c->run->err)
		c->run->err = -EIO;
	for (i = 0; i < c->nargs; i++)
		free(c->args[i]);
	for (i = 0; i < LAST_WORDS; i++)
		free(c->words[i]);
	free(c);
}

/* The process is a zombie: what is left of its group ends, what it has said is taken. */
static void take_end(struct child *c)
{
	char message[96];
	int i;

	kill(-c->pid, SIGKILL);
	while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
		;
	for (i = 0; i < STREAMS; i++) {
		stream__read(&c->streams[i]);
		stream__end(&c->streams[i]);
	}
	child__say_timeout(c, message, sizeof(message));
	if (c->late)
		write_error(c, "TimeoutError", message);
	else if (c->kill_ns)
		write_error(c, "KeyboardInterrupt", "interrupted");
	write_end(c, json_integer(WIFSIGNALED(c->status) ? -WTERMSIG(c->status)
							 : WEXITSTATUS(c->status)));
	record_row(c, REC_ROW_END);
	close(c->pidfd);
	c->pidfd = -1;
	c->ended = true;
}

void child__read(struct child *c)
{
	siginfo_t info = {0};
	int i;

	if (c->ended)
		return;
	for (i = 0; i < STREAMS; i++)
		stream__read(&c->streams[i]);
	if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
		take_end(c);
	datafile__flush(c->data);
}

void child__end(struct child *c, bool kill_it)
{
	if (c->ended)
		return;
	kill(-c->pid, kill_it ? SIGKILL : SIGTERM);
	/* the step under way may be finished, set-up comes to a point where it can end */
	c->kill_ns = kill_it	       ? UINT64_MAX
		     : c->observations ? hostclock__now() + 2 * SECOND + 2 * c->step_ns
				       : hostclock__now() + SETUP_PATIENCE;
	if (kill_it && !c->killed_ns)
		c->killed_ns = hostclock__now();
}

static void give_up(struct child *c)
{
	c->stuck = true;
	c->ended = true;
	write_error(c, "OSError", "the process hangs in the kernel and cannot be killed");
	write_end(c, json_string("ERROR"));
}

void child__check_time(struct child *c, uint64_t now_ns)
{
	uint64_t limit = c->run->o->max_ns;

	if (c->ended)
		return;
	/* it ends by itself between two steps; later than that, it hangs */
	if (limit && !c->kill_ns && now_ns - c->begin_ns > limit + 2 * SECOND + 2 * c->step_ns) {
		c->late = true;
		child__end(c, false);
	} else if (c->kill_ns && now_ns >= c->kill_ns) {
		child__end(c, true);
	} else if (c->killed_ns && now_ns >= c->killed_ns + PATIENCE) {
		give_up(c);
	}
}

bool child__ended(const struct child *c)
{
	return c->ended;
}

const char *child__tag(const struct child *c)
{
	return c->tag;
}

/* ---- from outside ---- */

bool child__finish(struct child *c)
{
	char reason[160], loss[48] = "";
	bool ok = child__judge(c, reason, sizeof(reason));

	c->run->observations += datafile__observations(c->data);

	if (c->has_loss)
		snprintf(loss, sizeof(loss), ", loss %.4g", c->loss);
	if (ok) {
		log_info("%s: %" PRIu64 " observations, the last %.4g %s%s", c->tag,
			 c->observations, c->rate, c->units, loss);
	} else {
		log_error("%s failed: %s", c->tag, reason);
		child__say_words(c);
	}
	child__free(c);
	return ok;
}

static void close_theirs(const int theirs[STREAMS])
{
	int i;

	for (i = 0; i < STREAMS; i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
}

static int start(struct child *c)
{
	int theirs[STREAMS] = {-1, -1, -1}, err;

	err = build_command(c) ?: open_data(c);
	if (!err)
		err = open_pipes(c, theirs);
	if (!err)
		err = fork_child(c, theirs);
	close_theirs(theirs);
	return err ?: watch(c) ?: let_go(c);
}

struct child *child__new(struct run *r, const struct child_job *job)
{
	struct child *c = calloc(1, sizeof(*c));
	int i, err;

	if (!c) {
		log_error("out of memory");
		return NULL;
	}
	c->run = r;
	c->job = *job;
	c->pidfd = -1;
	for (i = 0; i < STREAMS; i++)
		c->streams[i] = (struct stream){.child = c, .kind = (enum stream_kind)i, .fd = -1};
	err = start(c);
	if (!err)
		return c;
	log_error("%s: cannot be started: %s", *c->tag ? c->tag : job->row->workload->name,
		  log__err(err));
	if (c->data) {
		write_error(c, "OSError", log__err(err));
		write_end(c, json_string("ERROR"));
	}
	child__free(c);
	errno = -err;
	return NULL;
}
