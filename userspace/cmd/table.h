/* SPDX-License-Identifier: BSD-2-Clause */
/* Every command: X(name, why it is here). The order is that of `xpugap --help`. */
#ifndef XPUGAP_CMD_TABLE_H
#define XPUGAP_CMD_TABLE_H

#define CMD_TABLE(X)                                                                               \
	X(run, "workloads, measured and recorded")                                                 \
	X(record, "the kernel's view of a program that runs")                                      \
	X(report, "how a run went and what the kernel did meanwhile")                              \
	X(info, "what a trace is worth, before it is believed")                                    \
	X(dump, "the records themselves: what everything else is made of")                         \
	X(list, "what there is to run and to record")                                              \
	X(doctor, "what can be seen here, and what to do about the rest")                          \
	X(workload, "what run starts for each row")                                                \
	X(help, "about the commands themselves")

#endif
