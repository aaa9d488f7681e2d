// SPDX-License-Identifier: BSD-2-Clause
/* The objects of the io_uring hook, and the requests that it has seen begin and not end. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/include/shared.h" /* skeletons use its types */

#include "bpf/hooks/io_uring.skel.h"
#include "bpf/hooks/io_uring_plain.skel.h"
#include "bpf/hooks/io_uring_read.skel.h"
#include "userspace/source/hooks_priv.h"
#include "userspace/source/tracefs.h"

#define SWITCH	    "/proc/sys/kernel/io_uring_disabled"
#define NO_IO_URING "the kernel has no io_uring (CONFIG_IO_URING)"
#define TOO_OLD	    "the kernel's tracepoints for io_uring do not tell of which request (before 6.0)"
#define SWITCHED_OFF                                                                               \
	"io_uring is switched off for everybody (sysctl kernel.io_uring_disabled=0 switches it "   \
	"on)"

/* Not an error: where nobody can make a ring there are no requests. */
static int no_io_uring(struct family *f, const char *why)
{
	f->lack = why;
	return -ENXIO;
}

/* Since 6.6 there is a switch: 0 on, 1 for some, 2 off. */
static bool is_switched_off(void)
{
	FILE *file = fopen(SWITCH, "re");
	int c = file ? fgetc(file) : EOF;

	if (file)
		fclose(file);
	return c == '2';
}

static int check(const struct hooks *h, struct family *f)
{
	if (!h->facts.trace_io_uring)
		return no_io_uring(f, NO_IO_URING);
	if (is_switched_off())
		return no_io_uring(f, SWITCHED_OFF);
	if (h->facts.uring_requests)
		return 0;
	f->lack = TOO_OLD;
	return -EOPNOTSUPP;
}

#define OPEN_IO_URING(name, may)                                                                   \
	int open_##name(struct hooks *h, struct family *f)                                         \
	{                                                                                          \
		int err = (may) ? check(h, f) : -ENOENT;                                           \
		struct name##_bpf *s = err ? NULL : name##_bpf__open();                            \
                                                                                                   \
		if (!s)                                                                            \
			return err ?: -errno;                                                      \
		ADOPT(f, s);                                                                       \
		s->rodata->complete_has_entry = h->facts.uring_entry;                              \
		bpf_program__set_autoload(h->facts.uring_submit_req                                \
						  ? s->progs.io_uring_submit_req                   \
						  : s->progs.io_uring_submit_sqe,                  \
					  true);                                                   \
		return 0;                                                                          \
	}

OPEN_IO_URING(io_uring, h->facts.rdonly_cast)
OPEN_IO_URING(io_uring_read, true)

struct place {
	const char *field;
	const volatile uint32_t *to;
};

static int find_places(const struct hooks *h, const char *event, const struct place *p)
{
	char path[64];
	int err = 0;

	snprintf(path, sizeof(path), "io_uring/%s", event);
	for (; !err && p->field; p++)
		err = tracefs__field(h->facts.tracefs, path, p->field, (uint32_t *)p->to);
	return err;
}

#define FIND(h, event, ...) find_places(h, event, (const struct place[]){__VA_ARGS__, {0}})

static int find_submit(const struct hooks *h, struct io_uring_plain_bpf *s, const char *event)
{
	return FIND(h, event, {"ctx", &s->rodata->at_submit_ring},
		    {"req", &s->rodata->at_submit_req}, {"user_data", &s->rodata->at_submit_data},
		    {"opcode", &s->rodata->at_submit_op}, {"flags", &s->rodata->at_submit_flags},
		    {"sq_thread", &s->rodata->at_submit_polled});
}

static int find_fields(const struct hooks *h, struct io_uring_plain_bpf *s)
{
	int err = find_submit(h, s, "io_uring_submit_req");

	if (!err) {
		bpf_program__set_autoload(s->progs.io_uring_submit_req, true);
	} else {
		err = find_submit(h, s, "io_uring_submit_sqe");
		bpf_program__set_autoload(s->progs.io_uring_submit_sqe, true);
	}
	return err ?: FIND(h, "io_uring_complete", {"ctx", &s->rodata->at_complete_ring},
			   {"req", &s->rodata->at_complete_req},
			   {"user_data", &s->rodata->at_complete_data},
			   {"res", &s->rodata->at_complete_res},
			   {"cflags", &s->rodata->at_complete_flags})
	       ?: FIND(h, "io_uring_cqe_overflow", {"ctx", &s->rodata->at_overflow_ring},
		       {"user_data", &s->rodata->at_overflow_data},
		       {"res", &s->rodata->at_overflow_res},
		       {"cflags", &s->rodata->at_overflow_flags})
	       ?: FIND(h, "io_uring_queue_async_work", {"req", &s->rodata->at_async_req})
	       ?: FIND(h, "io_uring_file_get", {"req", &s->rodata->at_file_req},
		       {"fd", &s->rodata->at_file_fd})
	       ?: FIND(h, "io_uring_req_failed", {"ctx", &s->rodata->at_failed_ring},
		       {"req", &s->rodata->at_failed_req},
		       {"user_data", &s->rodata->at_failed_data},
		       {"opcode", &s->rodata->at_failed_op},
		       {"flags", &s->rodata->at_failed_flags});
}

int open_io_uring_plain(struct hooks *h, struct family *f)
{
	struct io_uring_plain_bpf *s;
	uint32_t at;

	if (!*h->facts.tracefs)
		return -ENODEV;
	if (tracefs__field(h->facts.tracefs, "io_uring/io_uring_complete", "ctx", &at))
		return no_io_uring(f, NO_IO_URING);
	if (is_switched_off())
		return no_io_uring(f, SWITCHED_OFF);
	s = io_uring_plain_bpf__open();
	if (!s)
		return -errno;
	ADOPT(f, s);
	if (find_fields(h, s) == 0)
		return 0;
	f->lack = TOO_OLD;
	return -EOPNOTSUPP;
}

/* ---- what has not ended ---- */

int hooks__tell_io_uring(struct hooks *h,
			 int (*tell)(void *arg, const void *key, const void *value), void *arg)
{
	const struct family *f = &h->family[REC_HOOK_IO_URING];

	return f->obj ? hooks_map__each(f, "uring_requests", tell, arg) : 0;
}

bool hooks__io_uring_late(const struct hooks *h, const struct uring_request *r,
			  struct uring_result *late)
{
	const struct family *f = &h->family[REC_HOOK_IO_URING];
	const struct uring_key key = {.ring = r->ring, .user_data = r->user_data};
	struct bpf_map *map = f->obj ? bpf_object__find_map_by_name(f->obj, "uring_results") : NULL;

	return map && bpf_map_lookup_elem(bpf_map__fd(map), &key, late) == 0;
}
