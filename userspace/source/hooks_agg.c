// SPDX-License-Identifier: BSD-2-Clause
/* Calls that the syscall hook counts: its map. */
#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "userspace/source/hooks_priv.h"

#define MAX_READ (4 * AGG_PAIRS) /* a map that changes while its keys are read may start again */

bool hooks__counts_calls(const struct hooks *h)
{
	return h->agg_turn && h->family[REC_HOOK_SYSCALL].obj;
}

uint32_t hooks__next_turn(struct hooks *h)
{
	return hooks__counts_calls(h) ? __atomic_fetch_add(h->agg_turn, 1, __ATOMIC_SEQ_CST) : 0;
}

/* Those to be forgotten are kept until all were seen: without its key a walk begins anew. */
static int walk(int fd, struct agg_key *gone, unsigned int *n_gone,
		int (*each)(void *arg, const struct agg_key *key, struct agg_value *value),
		void *arg)
{
	struct agg_key key, *last = NULL;
	struct agg_value value;
	unsigned int n = 0;
	int ret = 0;

	while (ret >= 0 && n++ < MAX_READ && bpf_map_get_next_key(fd, last, &key) == 0) {
		last = &key;
		value.count = 0;
		if (bpf_map_lookup_elem(fd, &key, &value))
			continue;
		ret = each(arg, &key, &value);
		if (ret == 1 && *n_gone < AGG_PAIRS)
			gone[(*n_gone)++] = key;
	}
	return ret < 0 ? ret : 0;
}

int hooks__each_agg(struct hooks *h,
		    int (*each)(void *arg, const struct agg_key *key, struct agg_value *value),
		    void *arg)
{
	struct family *f = &h->family[REC_HOOK_SYSCALL];
	struct agg_key *gone;
	unsigned int n = 0;
	int fd, err;

	if (!hooks__counts_calls(h))
		return -ENOENT;
	fd = bpf_object__find_map_fd_by_name(f->obj, "agg");
	if (fd < 0)
		return fd;
	gone = calloc(AGG_PAIRS, sizeof(*gone));
	if (!gone)
		return -ENOMEM;
	err = walk(fd, gone, &n, each, arg);
	while (n--)
		bpf_map_delete_elem(fd, &gone[n]);
	free(gone);
	return err;
}
