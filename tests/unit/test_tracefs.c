// SPDX-License-Identifier: BSD-2-Clause
/* Where the fields of a tracepoint lie. */
#include <criterion/criterion.h>
#include <errno.h>
#include <unistd.h>

#include "userspace/source/tracefs.h"

/* as Linux 6.18 writes it, shortened */
static const char sched_switch[] =
	"name: sched_switch\n"
	"ID: 316\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:__data_loc char[] filename;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:const char * name;\toffset:48;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"prev_pid=%d\", REC->prev_pid\n";

static int find(const char *format, const char *name)
{
	uint32_t offset = 77777;
	int err = tracefs__parse_field(format, name, &offset);

	cr_assert(!err || offset == 77777, "set in spite of an error");
	return err ? err : (int)offset;
}

Test(tracefs, finds_fields)
{
	cr_assert_eq(find(sched_switch, "prev_comm"), 8);
	cr_assert_eq(find(sched_switch, "prev_pid"), 24);
	cr_assert_eq(find(sched_switch, "prev_state"), 32);
	cr_assert_eq(find(sched_switch, "filename"), 40);
	cr_assert_eq(find(sched_switch, "name"), 48);
	cr_assert_eq(find(sched_switch, "common_type"), 0);
}

Test(tracefs, takes_no_part_of_a_name)
{
	cr_assert_eq(find(sched_switch, "pid"), -ENOENT);
	cr_assert_eq(find(sched_switch, "comm"), -ENOENT);
	cr_assert_eq(find(sched_switch, "prev"), -ENOENT);
	cr_assert_eq(find(sched_switch, "next_pid"), -ENOENT);
	cr_assert_eq(find("", "pid"), -ENOENT);
}

Test(tracefs, refuses_what_it_does_not_understand)
{
	cr_assert_eq(find("field:int pid;", "pid"), -EINVAL);
	cr_assert_eq(find("field:int pid;\toffset:;\n", "pid"), -EINVAL);
	cr_assert_eq(find("field:int pid;\toffset:-8;\n", "pid"), -EINVAL);
	cr_assert_eq(find("field:int pid;\toffset:8\n", "pid"), -EINVAL);
	cr_assert_eq(find("field:int pid;\toffset:65536;\n", "pid"), -EINVAL);
	cr_assert_eq(find("field:int pid;\toffset:99999999999999999999;\n", "pid"), -EINVAL);
	cr_assert_eq(find("field:int pid", "pid"), -ENOENT);
}

Test(tracefs, reads_the_running_kernel)
{
	uint32_t offset;

	cr_assert_eq(tracefs__field("/nowhere", "sched/sched_switch", "prev_pid", &offset),
		     -ENOENT);
	if (access("/sys/kernel/tracing/events/sched/sched_switch/format", R_OK))
		cr_skip_test("no tracefs");
	cr_assert_eq(tracefs__field("/sys/kernel/tracing", "sched/sched_switch", "prev_pid",
				    &offset),
		     0);
	cr_assert_geq(offset, 8);
}
