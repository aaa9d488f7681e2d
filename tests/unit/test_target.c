// SPDX-License-Identifier: BSD-2-Clause
/* What tells who is to be recorded: lines of /proc, control groups, containers. */
#include <criterion/criterion.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/lib/hostclock.h"
#include "userspace/source/cgroup.h"
#include "userspace/source/container.h"
#include "userspace/source/proc.h"

/* ---- processes ---- */

Test(target, stat_line)
{
	struct proc_stat st;

	cr_assert_eq(proc_stat__parse("4711 (a) b (c)) S 17 4711 4711 0 -1 4194560 1 2 3 4 5 6 7 8 "
				      "20 0 1 0 987654321 1 2\n",
				      &st),
		     0);
	cr_assert_eq(st.pid, 4711);
	cr_assert_eq(st.ppid, 17);
	cr_assert_eq(st.state, 'S');
	cr_assert_eq(st.flags, 4194560);
	cr_assert_eq(st.start_ticks, 987654321);
	cr_assert_str_eq(st.comm, "a) b (c)");
	cr_assert_eq(
		proc_stat__parse("1 (kworker/R-netns_and_more) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 "
				 "0 0 0 -20 1 0 20 0\n",
				 &st),
		0);
	cr_assert_str_eq(st.comm, "kworker/R-netns");
	cr_assert(st.flags & PROC_KTHREAD);
	cr_assert_eq(proc_stat__parse("", &st), -EINVAL);
	cr_assert_eq(proc_stat__parse("1 )( S 1", &st), -EINVAL);
	cr_assert_eq(proc_stat__parse("1 (x) S 17 4711", &st), -EINVAL);
}

/* A process is as old as the clock that its creator saw says, within two ticks. */
Test(target, start)
{
	uint64_t before = hostclock__now(),
		 slack = 2 * 1000000000U / (uint64_t)sysconf(_SC_CLK_TCK);
	struct proc_stat st;
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	cr_assert_eq(proc__stat(pid, 0, &st), 0);
	cr_assert_not(proc_stat__ending(&st));
	cr_assert_geq(proc_stat__start_ns(&st) + slack, before);
	cr_assert_leq(proc_stat__start_ns(&st), hostclock__now() + slack);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	st.flags |= PROC_EXITING;
	cr_assert(proc_stat__ending(&st));
	cr_assert_not(proc_stat__ended(&st));
}

Test(target, ourselves)
{
	struct proc_stat st;
	uint32_t uid;

	cr_assert_eq(proc__stat(getpid(), 0, &st), 0);
	cr_assert_eq(st.pid, getpid());
	cr_assert_eq(st.ppid, getppid());
	cr_assert_not(st.flags & PROC_KTHREAD);
	cr_assert_eq(proc__leader(getpid()), getpid());
	cr_assert_eq(proc__uid(getpid(), &uid), 0);
	cr_assert_eq(uid, getuid());
	cr_assert_eq(proc__uid(INT_MAX, &uid), -ESRCH);
	cr_assert(proc__lives(getpid()));
	cr_assert_eq(proc__leader(INT_MAX), 0);
	cr_assert_eq(proc__stat(INT_MAX, 0, &st), -ESRCH);
	cr_assert_not(proc__lives(INT_MAX));
}

/* ---- control groups ---- */

Test(target, mounts)
{
	struct cgroup_mount *m = malloc(sizeof(*m));

	cr_assert_eq(cgroup_mount__parse(m, "36 25 0:31 / /sys/fs/cgroup/cpu\\040a rw,relatime "
					    "shared:9 - cgroup cgroup rw,cpu,cpuacct\n"),
		     1);
	cr_assert_eq(m->version, 1);
	cr_assert_eq(m->major, 0);
	cr_assert_eq(m->minor, 31);
	cr_assert_str_eq(m->root, "/");
	cr_assert_str_eq(m->path, "/sys/fs/cgroup/cpu a");
	cr_assert_str_eq(m->options, "rw,cpu,cpuacct");
	cr_assert_eq(cgroup_mount__parse(m, "30 24 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 "
					    "rw,nsdelegate\n"),
		     1);
	cr_assert_eq(m->version, 2);
	cr_assert_str_eq(m->root, "/../..");
	cr_assert_eq(cgroup_mount__parse(m, "22 1 254:0 / / rw - ext4 /dev/vda rw\n"), 0);
	cr_assert_eq(cgroup_mount__parse(m, "22 1 254:0 / / rw\n"), -EINVAL);
	cr_assert_eq(cgroup_mount__parse(m, ""), -EINVAL);
	free(m);
}

Test(target, hierarchies)
{
	cr_assert_eq(cgroup__match("4:cpu,cpuacct:/x\n", "rw,cpu,cpuacct"), 4);
	cr_assert_eq(cgroup__match("9:name=systemd:/\n", "rw,xattr,name=systemd"), 9);
	cr_assert_eq(cgroup__match("3:cpuset:/x\n", "rw,cpu,cpuacct"), -ENOENT);
	cr_assert_eq(cgroup__match("3:cpu:/x\n", "rw,cpuset"), -ENOENT);
	cr_assert_eq(cgroup__match("0::/x\n", "rw,cpu"), -ENOENT);
	cr_assert_eq(cgroup__match("", "rw"), -ENOENT);
}

Test(target, no_group)
{
	struct cgroup_ref *g = malloc(sizeof(*g));

	cr_assert_eq(cgroup__find(g, "/no/such/group"), -ENOENT);
	cr_assert_eq(cgroup__find(g, "/etc/passwd"), -ENOTDIR);
	cr_assert_eq(cgroup__find(g, "/etc"), -ENOTDIR);
	free(g);
}

/* ---- containers ---- */

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "0123999999abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static bool matches(const char *line, const char *id, const char *want)
{
	char path[PATH_MAX] = "", whole[CONTAINER_ID_MAX];

	return container__match(line, id, path, sizeof(path), whole) == 1 &&
	       strcmp(path, want) == 0;
}

Test(target, ids_in_groups)
{
	char path[PATH_MAX], whole[CONTAINER_ID_MAX];

	cr_assert(matches("0::/system.slice/docker-" ID ".scope\n", ID,
			  "/system.slice/docker-" ID ".scope"));
	cr_assert(matches("7:memory:/docker/" ID "/init.scope\n", "0123", "/docker/" ID));
	cr_assert(matches("0::/machine.slice/libpod-" ID ".scope/container\n", "012345678",
			  "/machine.slice/libpod-" ID ".scope"));
	cr_assert(matches("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope\n",
			  ID, "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope"));
	cr_assert(matches("0::/kubepods/besteffort/pod1/crio-" ID "\n", ID,
			  "/kubepods/besteffort/pod1/crio-" ID));
	cr_assert(matches("0::/default/web\n", "web", "/default/web"));
	cr_assert(matches("0::/default/web/init.scope\n", "web", "/default/web"));
	/* what containers are in is none, whatever it is called */
	cr_assert_not(matches("7:memory:/docker/" ID "\n", "docker", "/docker"));
	cr_assert_not(matches("0::/system.slice/cron.service\n", "system.slice", "/system.slice"));
	cr_assert_not(matches("0::/kubepods/besteffort\n", "besteffort", "/kubepods/besteffort"));
	cr_assert_not(matches("0::/init.scope\n", "init", "/init.scope"));
	cr_assert_not(matches("0::/web/worker\n", "web", "/web"));
	/* the runtime's watchman; too little of an id; a name that only begins so */
	cr_assert_not(matches("0::/libpod-conmon-" ID ".scope\n", ID, ""));
	cr_assert_eq(container__match("0::/docker/" ID "\n", "012", path, sizeof(path), whole), 0);
	cr_assert_eq(container__match("0::/default/website\n", "webs", path, sizeof(path), whole),
		     0);
	cr_assert_eq(container__match("0::/\n", "0", path, sizeof(path), whole), 0);
	cr_assert_eq(container__match("", "0", path, sizeof(path), whole), 0);
}

static char root[] = "/tmp/xpugap-target.XXXXXX";

static void put(const char *path, const char *text)
{
	char full[PATH_MAX], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	cr_assert(f);
	fputs(text, f);
	fclose(f);
}

static void make_root(void)
{
	cr_assert(mkdtemp(root));
	put("proc/1/cgroup", "0::/init.scope\n");
	put("proc/10/cgroup", "7:memory:/docker/" ID "\n0::/docker/" ID "/sub\n");
	put("proc/11/cgroup", "0::/docker/" ID2 "\n");
	put("proc/12/cgroup", "0::/user.slice/libpod-" ID2 ".scope/container\n");
	put("proc/13/cgroup", "0::/default/web\n");
	put("proc/self/cgroup", "0::/docker/" ID "\n");
}

static void remove_root(void)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	cr_assert_eq(system(command), 0);
}

Test(target, names, .init = make_root, .fini = remove_root)
{
	const char *pods = "containers/storage/overlay-containers";
	char id[CONTAINER_ID_MAX], path[PATH_MAX];

	cr_assert_eq(container__id("db", root, id), -ENOENT);
	put("var/lib/docker/containers/" ID "/config.v2.json",
	    "{\"ID\": \"x\", \"Name\": \"/db\"}");
	put("var/lib/docker/containers/bad/config.v2.json", "{\"Name\": ");
	put("var/lib/docker/containers/odd/config.v2.json", "[{\"Name\": \"db\"}, 1]");
	cr_assert_eq(container__id("db", root, id), 0);
	cr_assert_str_eq(id, ID);
	snprintf(path, sizeof(path), "var/lib/%s/containers.json", pods);
	put(path, "[{\"id\": \"" ID2 "\", \"names\": [\"other\", \"pod\"]}, {\"id\": 3, \"names\": "
		  "[\"pod\", 4]}]");
	cr_assert_eq(container__id("pod", root, id), 0);
	cr_assert_str_eq(id, ID2);
	put("run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
	    "{\"annotations\": {\"io.kubernetes.cri.container-name\": \"trainer\"}}");
	cr_assert_eq(container__id("trainer", root, id), 0);
	cr_assert_str_eq(id, ID);
	snprintf(path, sizeof(path), "run/%s/%s/userdata/config.json", pods, ID2);
	put(path, "{\"annotations\": {\"io.kubernetes.container.name\": \"served\"}}");
	cr_assert_eq(container__id("served", root, id), 0);
	cr_assert_str_eq(id, ID2);
	snprintf(path, sizeof(path), "home/me/.local/share/%s/containers.json", pods);
	put(path, "[{\"id\": \"" ID2 "\", \"names\": [\"mine\"]}]");
	cr_assert_eq(container__id("mine", root, id), 0);
	cr_assert_str_eq(id, ID2);
	/* who has a home may have put anything there */
	snprintf(path, sizeof(path), "%s/home/a/.local/share/%s", root, pods);
	put("home/a/.local/share/containers/storage/overlay-containers/x", "");
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/containers.json");
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(container__id("nowhere", root, id), -ENOENT);
	cr_assert_eq(container__find("db", root, path, sizeof(path)), 0);
	cr_assert_str_eq(path, "/docker/" ID);
}

Test(target, containers, .init = make_root, .fini = remove_root)
{
	char path[PATH_MAX];

	cr_assert_eq(container__find(ID, root, path, sizeof(path)), 0);
	cr_assert_str_eq(path, "/docker/" ID);
	cr_assert_eq(container__find("01234", root, path, sizeof(path)), 0);
	cr_assert_eq(container__find("0123", root, path, sizeof(path)), -EEXIST);
	cr_assert_eq(container__find("web", root, path, sizeof(path)), 0);
	cr_assert_str_eq(path, "/default/web");
	cr_assert_eq(container__find("none", root, path, sizeof(path)), -ENOENT);
	cr_assert_eq(container__find("", root, path, sizeof(path)), -ENOENT);
	cr_assert_eq(container__find("a/b", root, path, sizeof(path)), -ENOENT);
}
