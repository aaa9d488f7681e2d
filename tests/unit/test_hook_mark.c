// SPDX-License-Identifier: BSD-2-Clause
/* Marks of a process that runs already: by USDT, exactly, and never through both ways. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/mark/hash.h"
#include "userspace/mark/xpugap_mark.h"
#include "userspace/source/hooks.h"
#include "userspace/source/mark_hub.h"
#include "userspace/source/mark_live.h"
#include "userspace/source/mark_usdt.h"
#include "userspace/trace/records.h"

#define TARGET "XPUGAP_TEST_HOOK_MARK"
#define STEPS  5000

struct got {
	uint64_t steps, items, begins, ends, names, others;
	uint64_t wrong; /* steps or names that are not what was marked */
	char longest[2100];
};

static void name_came(struct got *g, const struct rec *rec)
{
	size_t len;
	const char *text = record__text(rec, 0, &len);

	g->names++;
	g->wrong += ((const struct rec_name *)rec)->id != mark_hash(text, len);
	if (len > strlen(g->longest))
		snprintf(g->longest, sizeof(g->longest), "%.*s", (int)len, text);
}

static int count(void *arg, const struct rec *rec)
{
	struct got *g = arg;

	cr_assert_eq(record__check(rec), 0);
	switch (rec->type) {
	case REC_MARK_STEP:
		g->wrong += ((const struct rec_mark_step *)rec)->step != g->steps++;
		g->items += ((const struct rec_mark_step *)rec)->items;
		break;
	case REC_RANGE_BEGIN:
		g->begins++;
		break;
	case REC_RANGE_END:
		g->ends++;
		break;
	case REC_NAME:
		name_came(g, rec);
		break;
	default:
		g->others++;
	}
	return 0;
}

/* The marks in the rings of the hooks: in order, as the targets keep to one cpu. */
static void read_rings(struct hooks *h, struct got *g)
{
	for (unsigned int cpu = 0; cpu < hooks__ncpus(h); cpu++) {
		struct ring *r = hooks__ring(h, cpu);
		unsigned long end = ring__begin(r);
		const struct rec *rec;

		while ((rec = ring__next(r, end)))
			if (record__find(rec->type)->hook == REC_HOOK_MARK)
				count(g, rec);
		ring__release(r);
	}
}

static void mark(void)
{
	char name[2048 + 50];

	for (uint64_t i = 0; i < STEPS; i++)
		xpugap_step(i, 2);
	for (int i = 0; i < 100; i++) {
		xpugap_range_begin("forward");
		xpugap_range_end("forward");
	}
	for (size_t n = 120; n < sizeof(name); n += 8) {
		memset(name, 'x', n);
		name[n] = '\0';
		xpugap_range_begin(name);
		xpugap_range_end(name);
	}
	xpugap_range_begin(NULL);
}

#define LONG_NAMES ((2048 + 50 - 120 + 7) / 8)

/*
 * The targets run a copy of this program, so that probes are attached to in none but them: say
 * that we are there, mark once we are told to.
 */
static int target(int ready, int go, const char *address)
{
	cpu_set_t one;
	char c;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (xpugap_recording())
		return 1;
	if (write(ready, "x", 1) != 1 || read(go, &c, 1) != 1)
		return 2;
	if (*address && !xpugap_connect(address))
		return 3;
	if (!xpugap_recording())
		return 4;
	mark();
	return 0;
}

__attribute__((constructor)) static void be_the_target(void)
{
	const char *env = getenv(TARGET);
	int ready, go, n;

	if (env && sscanf(env, "%d %d %n", &ready, &go, &n) >= 2)
		_exit(target(ready, go, env + n));
}

struct child {
	pid_t pid;
	int go;
};

static void copy_program(char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = mkstemp(path);
	ssize_t n;

	cr_assert(from >= 0 && to >= 0);
	while ((n = sendfile(to, from, NULL, 1 << 20)) > 0)
		;
	cr_assert_eq(n, 0);
	cr_assert_eq(fchmod(to, 0700), 0);
	close(from);
	close(to);
}

static struct child start(const char *program, const char *address)
{
	int go[2], ready[2];
	struct child c;
	char env[256];

	cr_assert_eq(pipe(go) | pipe(ready), 0);
	c.go = go[1];
	c.pid = fork();
	if (!c.pid) {
		close(go[1]);
		snprintf(env, sizeof(env), "%d %d %s", ready[1], go[0], address);
		setenv(TARGET, env, 1);
		execl(program, program, NULL);
		_exit(5);
	}
	close(go[0]);
	close(ready[1]);
	cr_assert_eq(read(ready[0], env, 1), 1);
	close(ready[0]);
	return c;
}

static void run(struct child c)
{
	int status;

	cr_assert_eq(write(c.go, "x", 1), 1);
	close(c.go);
	waitpid(c.pid, &status, 0);
	cr_assert_eq(status, 0, "%x", status);
}

static struct hooks *hooks(void)
{
	struct hooks_opts opts = {.memory_bytes = 8 << 20};
	struct hooks *h;

	if (geteuid() != 0)
		cr_skip_test("needs root to attach");
	h = hooks__new(&opts);
	cr_assert_not_null(h);
	if (!hooks__ncpus(h))
		cr_skip_test("this kernel refuses the hooks");
	hooks__attach(h);
	return h;
}

Test(hook_mark, running_process, .timeout = 60)
{
	struct hooks *h = hooks();
	struct mark_usdt *u = mark_usdt__new(h);
	struct got g = {0};
	char path[] = "/tmp/xpugap-test-XXXXXX";
	struct child target, other;
	const struct hook_counts *c;
	int failed;

	copy_program(path);
	target = start(path, "");
	other = start(path, "");
	cr_assert_not_null(u, "%s", strerror(errno));
	cr_assert_geq(hooks__add(h, target.pid), 0);
	cr_assert_eq(mark_usdt__attach(u, target.pid, &failed), 1);
	cr_assert_eq(mark_usdt__attach(u, target.pid, &failed), 1); /* once is enough */
	cr_assert_eq(failed, 0);
	run(target);
	cr_assert_not(xpugap_recording());
	unlink(path);
	run(other); /* asked for its marks too, but no target */
	read_rings(h, &g);
	cr_assert_eq(g.steps, STEPS, "%lu", g.steps);
	cr_assert_eq(g.items, 2 * STEPS);
	cr_assert_eq(g.begins, 100 + LONG_NAMES + 1, "%lu", g.begins);
	cr_assert_eq(g.ends, 100 + LONG_NAMES);
	/* the last names are cut to the same one */
	cr_assert_eq(g.names, 1 + (2048 - 120) / 8 + 1, "%lu", g.names);
	cr_assert_eq(strlen(g.longest), 2048);
	cr_assert_eq(g.wrong, 0);
	cr_assert_eq(g.others, 0);
	c = hooks__counts(h, 0, REC_HOOK_MARK);
	cr_assert_eq(c->records, g.steps + g.begins + g.ends + g.names);
	cr_assert_eq(c->hits, c->records);
	cr_assert_eq(c->lost_ring, 0);
	mark_usdt__free(u);
	hooks__free(h);
}

/* Where a note begins that says of a probe how its first argument is passed: "8@%rdi", say. */
static char *find_arguments(char *at, size_t bytes, const char *probe)
{
	char text[32];
	size_t n;

	n = (size_t)snprintf(text, sizeof(text), "xpugap%c%s", 0, probe) + 1; /* with its NUL */
	at = memmem(at, bytes, text, n);
	return at ? at + n : NULL;
}

/* The program at @path says of a probe what nobody can make sense of. */
static void spoil(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	char *file, *at;

	cr_assert_eq(fstat(fd, &st), 0);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(file, MAP_FAILED);
	at = find_arguments(file, (size_t)st.st_size, "range_begin");
	cr_assert_not_null(at);
	memset(at, '?', strlen(at));
	munmap(file, (size_t)st.st_size);
	close(fd);
}

/* A process whose file cannot be attached to costs only itself: the next one's marks come. */
Test(hook_mark, spoilt_file, .timeout = 60)
{
	struct hooks *h = hooks();
	struct mark_live *l = mark_live__new(h);
	char bad[] = "/tmp/xpugap-test-XXXXXX", good[] = "/tmp/xpugap-test-XXXXXX";
	const struct hook_report *r;
	struct child first, second;
	struct got g = {0};

	copy_program(bad);
	spoil(bad);
	copy_program(good);
	first = start(bad, ""); /* it has the smaller pid, so it is looked at first */
	second = start(good, "");
	unlink(bad);
	unlink(good);
	cr_assert_not_null(l);
	cr_assert_geq(hooks__add(h, first.pid), 0);
	cr_assert_geq(hooks__add(h, second.pid), 0);
	cr_assert_eq(mark_live__attach(l), 0);
	r = mark_live__report(l);
	cr_assert_eq(r->state, REC_HOOK_DEGRADED, "%d: %s", r->state, r->reason);
	cr_assert_not_null(strstr(r->reason, " 1 process "), "%s", r->reason);
	run(second);
	kill(first.pid, SIGKILL);
	waitpid(first.pid, NULL, 0);
	close(first.go);
	mark_live__detach(l);
	read_rings(h, &g);
	cr_assert_eq(g.steps, STEPS, "%lu", g.steps);
	mark_live__free(l);
	hooks__free(h);
}

/* A target that marks through shared memory raises no probe, though they are attached. */
Test(hook_mark, never_both, .timeout = 60)
{
	struct hooks *h = hooks();
	struct mark_hub *hub = mark_hub__new(&(struct mark_hub_opts){.ring_bytes = 1 << 22});
	struct mark_usdt *u = mark_usdt__new(h);
	char path[] = "/tmp/xpugap-test-XXXXXX";
	struct got kernel = {0}, shared = {0};
	struct child target;
	int failed;

	copy_program(path);
	target = start(path, mark_hub__address(hub));
	unlink(path); /* what is deleted is found by its mapping */
	cr_assert_not_null(u, "%s", strerror(errno));
	cr_assert_geq(hooks__add(h, target.pid), 0);
	cr_assert_eq(mark_usdt__attach(u, target.pid, &failed), 1);
	run(target);
	while (mark_hub__poll(hub, count, &shared) > 0)
		;
	read_rings(h, &kernel);
	cr_assert_eq(kernel.steps + kernel.begins + kernel.ends + kernel.names, 0);
	cr_assert_eq(shared.steps, STEPS);
	cr_assert_eq(shared.begins, 100 + LONG_NAMES + 1);
	mark_usdt__free(u);
	mark_hub__free(hub);
	hooks__free(h);
}

Test(hook_mark, process_without_marks)
{
	struct hooks *h = hooks();
	struct mark_usdt *u = mark_usdt__new(h);
	pid_t pid = fork();
	int failed;

	if (!pid) {
		execlp("sleep", "sleep", "10", NULL);
		_exit(1);
	}
	usleep(100000);
	cr_assert_eq(mark_usdt__attach(u, pid, &failed), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_assert_eq(mark_usdt__attach(u, pid, &failed), -ENOENT);
	mark_usdt__free(u);
	hooks__free(h);
}
