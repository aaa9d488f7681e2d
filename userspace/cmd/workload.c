// SPDX-License-Identifier: BSD-2-Clause
/* xpugap workload: one workload in this very process; what `xpugap run` starts for each row. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "userspace/cmd/cmd.h"
#include "userspace/cmd/run.h"
#include "userspace/lib/log.h"
#include "userspace/lib/opt.h"
#include "workloads/suite/harness.h"
#include "workloads/suite/options.h"

struct workload_opts {
	const char *device;
	int size;
	uint64_t stop;
	uint64_t max_ns;
	uint64_t seed;
	const char *data_dir;
	bool verify;
	struct opt_list others;
};

static const struct opt rows[] = {
	{"device", 'd', OPT_STR, "DEVICE", "run on this device", .complete = OPT_COMPLETE_DEVICE,
	 OPT_OFFSET(workload_opts, device), .def = "cpu"},
	{"size", 's', OPT_CHOICE, "SIZE", "how much work", .choices = workload_sizes,
	 OPT_OFFSET(workload_opts, size), .def = "small"},
	{"stop", 'n', OPT_U64, "N", "end after N observations and one more",
	 .more = "0 takes the number that belongs to the size.", OPT_OFFSET(workload_opts, stop),
	 .def = "0"},
	{"max-duration", 0, OPT_TIME, "TIME", "begin no step after TIME; 0: no limit",
	 OPT_OFFSET(workload_opts, max_ns), .def = "0"},
	{"seed", 0, OPT_U64, "N", "of weights, order and augmentation",
	 OPT_OFFSET(workload_opts, seed), .def = "1"},
	{"data-dir", 0, OPT_STR, "DIR", "where generated input is kept (default ~/.cache/xpugap)",
	 .complete = OPT_COMPLETE_DIR, OPT_OFFSET(workload_opts, data_dir)},
	{"verify", 0, OPT_FLAG, NULL, "check the results against a reference at the end",
	 OPT_OFFSET(workload_opts, verify)},
	{"OPTION", 0, OPT_OTHER, "VALUE", "an option of the workload ('xpugap list NAME')",
	 OPT_OFFSET(workload_opts, others), .others = workload__all_options},
	{0},
};

/* The pipe of a runner such as `xpugap run` or Milabench; standard output if there is none. */
static int find_data_fd(bool *runner)
{
	const char *text = getenv("DATA_FD");
	uint64_t fd;

	*runner = text && opt__parse_u64(text, &fd) == 0 && fd <= INT32_MAX &&
		  fcntl((int)fd, F_GETFD) >= 0;
	return *runner ? (int)fd : STDOUT_FILENO;
}

static int run_workload(const struct workload_opts *o, const struct workload *w)
{
	struct harness_opts h = {
		.workload = w,
		.device = o->device,
		.size = (enum workload_size)o->size,
		.stop = o->stop,
		.max_ns = o->max_ns,
		.seed = o->seed,
		.verify = o->verify,
	};
	char *data_dir = o->data_dir ? strdup(o->data_dir) : run__data_dir(NULL);
	void *values = workload__options(w, &o->others, (enum workload_size)o->size);
	int err = -ENOMEM;

	if (!data_dir)
		log_error("out of memory");
	if (!data_dir || !values)
		goto out;
	h.data_dir = data_dir;
	h.opts = values;
	h.data_fd = find_data_fd(&h.status);
	/* nobody listens any more when the runner is gone */
	if (h.status)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	err = harness__run(&h);
out:
	workload__free_options(w, values);
	free(data_dir);
	return err;
}

static int run(const void *values, int argc, char **argv)
{
	const struct workload_opts *o = values;
	const struct workload *w;
	int err;

	if (argc != 1) {
		log_error("which workload? (see 'xpugap list workloads')");
		return EXIT_USAGE;
	}
	w = workload__find(argv[0]);
	if (!w || workload__check_options(&w, 1, &o->others))
		return EXIT_USAGE;
	err = run_workload(o, w);
	if (err == -EINTR) { /* end as one who was told to */
		signal(SIGTERM, SIG_DFL);
		raise(SIGTERM);
	}
	return err ? EXIT_FAILED : EXIT_OK;
}

static const struct cmd_example examples[] = {
	{"see the observations of a workload as they come", "xpugap workload flops --size tiny"},
	{0},
};

const struct cmd cmd_workload = {
	.name = "workload",
	.summary = "run one workload in this process",
	.operands = "WORKLOAD",
	.description =
		"Runs one workload and reports on the pipe named by the environment's DATA_FD, or "
		"on "
		"standard output, what Milabench's benchmarks report: JSON lines with rates, "
		"losses, "
		"phases and progress. 'xpugap run' starts this command for each row of a suite; by "
		"itself it is for looking at one workload, or for recording it with 'xpugap "
		"record'.",
	.opts = rows,
	.opts_size = sizeof(struct workload_opts),
	.examples = examples,
	.see_also = "xpugap-list(1), xpugap-run(1)",
	.run = run,
};
