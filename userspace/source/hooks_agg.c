// SPDX-License-Identifier: BSD-2-Clause
/* Calls that the syscall hook counts: its map. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "userspace/source/hooks_priv.h"

/* One reading: those to be forgotten are kept until all were seen. */
struct reading {
	agg_fn *each;
	void *arg;
	struct agg_key *ended;
	unsigned int n;
};

bool hooks__counts_calls(const struct hooks *h)
{
	return h->agg_turn && h->family[REC_HOOK_SYSCALL].obj;
}

uint32_t hooks__next_turn(struct hooks *h)
{
	return hooks__counts_calls(h) ? __atomic_fetch_add(h->agg_turn, 1, __ATOMIC_SEQ_CST) : 0;
}

static int read_one(void *arg, const void *key, const void *value)
{
	struct reading *r = arg;
	int ret = r->each(r->arg, key, value);

	if (ret == 1 && r->n < AGG_PAIRS)
		r->ended[r->n++] = *(const struct agg_key *)key;
	return ret < 0 ? ret : 0;
}

int hooks__each_agg(struct hooks *h, agg_fn *each, agg_fn *gone, void *arg)
{
	struct family *f = &h->family[REC_HOOK_SYSCALL];
	struct reading r = {.each = each, .arg = arg};
	struct agg_value value;
	int fd, err;

	if (!hooks__counts_calls(h))
		return -ENOENT;
	r.ended = calloc(AGG_PAIRS, sizeof(*r.ended));
	if (!r.ended)
		return -ENOMEM;
	err = hooks_map__each(f, "agg", read_one, &r);
	fd = bpf_object__find_map_fd_by_name(f->obj, "agg");
	while (!err && r.n--)
		if (bpf_map_lookup_and_delete_elem(fd, &r.ended[r.n], &value) == 0)
			err = gone(arg, &r.ended[r.n], &value);
	free(r.ended);
	return err;
}
