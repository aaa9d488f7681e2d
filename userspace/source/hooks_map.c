// SPDX-License-Identifier: BSD-2-Clause
/* Reading hash maps of the hooks, also while these go on changing them. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "userspace/source/hooks_priv.h"

#define BATCH 512 /* the kernel gives whole buckets, which have some entries */

struct batch {
	char *keys;
	char *values;
	size_t key_size;
	size_t value_size;
};

static int hand_on(const struct batch *b, uint32_t n,
		   int (*each)(void *arg, const void *key, const void *value), void *arg)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < n; i++)
		err = each(arg, b->keys + i * b->key_size, b->values + i * b->value_size);
	return err;
}

/* From bucket to bucket: to go from key to key would begin anew where one is taken away. */
static int read_all(int fd, const struct batch *b,
		    int (*each)(void *arg, const void *key, const void *value), void *arg)
{
	uint32_t at, n, *from = NULL;
	int ret, err = 0;

	do {
		n = BATCH;
		ret = bpf_map_lookup_batch(fd, from, &at, b->keys, b->values, &n, NULL);
		if (ret && ret != -ENOENT)
			return ret;
		err = hand_on(b, n, each, arg);
		from = &at;
	} while (!err && !ret);
	return err;
}

int hooks_map__each(const struct family *f, const char *name,
		    int (*each)(void *arg, const void *key, const void *value), void *arg)
{
	struct bpf_map *map = f->obj ? bpf_object__find_map_by_name(f->obj, name) : NULL;
	struct batch b = {0};
	int err = -ENOMEM;

	if (!map)
		return -ENOENT;
	b.key_size = bpf_map__key_size(map);
	b.value_size = bpf_map__value_size(map);
	b.keys = calloc(BATCH, b.key_size);
	b.values = calloc(BATCH, b.value_size);
	if (b.keys && b.values)
		err = read_all(bpf_map__fd(map), &b, each, arg);
	free(b.keys);
	free(b.values);
	return err;
}
