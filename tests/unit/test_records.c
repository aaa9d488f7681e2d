// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>

#include "userspace/trace/records.h"

/* Sizes and offsets are those of the structs: the compiler's word against the tables'. */
Test(records, tables_describe_the_structs)
{
	const struct record_desc *d = record__find(REC_IOCTL);
	const struct record_field *f;

	cr_assert_not_null(d);
	cr_assert_str_eq(d->name, "ioctl");
	cr_assert_eq(d->hook, REC_HOOK_SYSCALL);
	cr_assert_eq(d->size, sizeof(struct rec_ioctl));
	cr_assert_eq(d->n_fields, 8);
	cr_assert(!d->has_tail);
	f = &d->fields[3];
	cr_assert_str_eq(f->name, "fd");
	cr_assert_eq(f->offset, offsetof(struct rec_ioctl, fd));
	cr_assert_eq(f->width, 4);
	cr_assert(f->is_signed);
	cr_assert_eq(f->format, REC_FMT_DEC);
	f = &record__find(REC_COUNTER)->fields[1];
	cr_assert_eq(f->format, REC_FMT_REAL);
	cr_assert_eq(f->width, sizeof(double));
	f = &record__find(REC_TASK_COMM)->fields[2];
	cr_assert_eq(f->format, REC_FMT_COMM);
	cr_assert_eq(f->offset, offsetof(struct rec_task_comm, comm));
	cr_assert_eq(f->width, REC_COMM_LEN);
}

/* Fields follow each other without gaps to the end of the struct, ids and names are unique. */
Test(records, every_table_is_whole)
{
	const struct record_desc *d;
	unsigned int f, at, texts;
	size_t i;

	for (i = 0; (d = record__at(i)); i++) {
		cr_assert_eq(record__find(d->type), d);
		cr_assert_eq(record__by_name(d->name), d, "%s is not unique", d->name);
		cr_assert_not_null(record__hook_name(d->hook));
		at = sizeof(struct rec);
		texts = 0;
		for (f = 0; f < d->n_fields; f++) {
			cr_assert_eq(d->fields[f].offset, at, "%s.%s", d->name, d->fields[f].name);
			at += d->fields[f].width;
			texts += record_format__is_length(d->fields[f].format);
		}
		cr_assert_eq(at, d->size);
		cr_assert_eq(texts, d->n_texts);
		cr_assert_eq(d->has_tail, texts > 0);
		cr_assert_eq(record_plain_sizes[d->type], d->has_tail ? 0 : d->size);
	}
	cr_assert_gt(i, 20);
}

Test(records, what_is_not_there_is_not_found)
{
	cr_assert_null(record__find(0));
	cr_assert_null(record__find(REC_TYPE_MAX));
	cr_assert_null(record__find(UINT16_MAX));
	cr_assert_null(record__by_name("ioctls"));
	cr_assert_null(record__hook_name(REC_HOOK_MAX));
	cr_assert_null(record__value_name(REC_FMT_WHY, 0));
	cr_assert_null(record__value_name(REC_FMT_HOOK_STATE, UINT64_MAX));
	cr_assert_null(record__value_name(REC_FMT_DEC, 1));
	cr_assert_str_eq(record__value_name(REC_FMT_HOOK_STATE, REC_HOOK_DEGRADED), "degraded");
	cr_assert_str_eq(record__value_name(REC_FMT_WHY, REC_LOST_BAD), "bad");
	cr_assert_str_eq(record__value_name(REC_FMT_FUTEX_OP, REC_FUTEX_OP_LOCK_PI), "lock_pi");
	cr_assert_str_eq(record__value_name(REC_FMT_FUTEX_OP, REC_FUTEX_OP_CALL), "futex_wait");
	cr_assert_null(record__value_name(REC_FMT_FUTEX_OP, REC_FUTEX_OP_CALL + 1));
	cr_assert_null(record__value_name(REC_FMT_IO_URING_OP, REC_IO_URING_OP_URING_CMD128 + 1));
}

/* The numbers are the kernel's: its own header has those that it had when that was made. */
Test(records, operations_of_io_uring_are_the_kernels)
{
#define IS(NAME, name)                                                                             \
	cr_expect_eq(REC_IO_URING_OP_##NAME, (int)IORING_OP_##NAME, "%s", #name);                  \
	cr_expect_str_eq(record__value_name(REC_FMT_IO_URING_OP, IORING_OP_##NAME), #name)
	IS(NOP, nop);
	IS(READV, readv);
	IS(POLL_ADD, poll_add);
	IS(TIMEOUT, timeout);
	IS(ACCEPT, accept);
	IS(OPENAT, openat);
	IS(READ, read);
	IS(WRITE, write);
	IS(RECV, recv);
	IS(EPOLL_CTL, epoll_ctl);
	IS(SHUTDOWN, shutdown);
	IS(MSG_RING, msg_ring);
	IS(SOCKET, socket);
	IS(URING_CMD, uring_cmd);
	IS(SENDMSG_ZC, sendmsg_zc);
}

static void expect_text(const struct rec *rec, unsigned int i, const char *expected)
{
	size_t len;
	const char *text = record__text(rec, i, &len);

	cr_assert_eq(len, strlen(expected));
	cr_assert_eq(memcmp(text, expected, len), 0);
}

Test(records, strings_are_built_and_found)
{
	const char *const texts[] = {"host.name", "vm"};
	struct rec_meta meta = {.hdr = {.type = REC_META, .tid = 7, .time_ns = 8}};
	uint64_t buf[64];
	struct rec *rec = record__build(buf, sizeof(buf), &meta.hdr, texts, 2);
	size_t len;

	cr_assert_eq((void *)rec, buf);
	cr_assert_eq(rec->size, sizeof(meta) + 16); /* 9 + 2 bytes, filled up to 16 */
	cr_assert_eq(rec->tid, 7);
	cr_assert_eq(rec->time_ns, 8);
	cr_assert_eq(record__check(rec), 0);
	expect_text(rec, 0, "host.name");
	expect_text(rec, 1, "vm");
	cr_assert_null(record__text(rec, 2, &len));
	cr_assert_eq(len, 0);
}

Test(records, strings_that_do_not_fit_are_cut)
{
	const char *const texts[] = {"0123456789abcdef", "x"};
	struct rec_meta meta = {.hdr = {.type = REC_META}};
	uint64_t buf[4];
	struct rec *rec = record__build(buf, sizeof(buf), &meta.hdr, texts, 2);

	cr_assert_eq(rec->size, 32);
	expect_text(rec, 0, "01234567");
	expect_text(rec, 1, "");
	cr_assert_eq(record__check(rec), 0);
	cr_assert_null(record__build(buf, 16, &meta.hdr, texts, 2));
}

Test(records, ill_formed_records_are_told)
{
	struct rec_ioctl plain = {.hdr = {.type = REC_IOCTL, .size = sizeof(plain)}};
	struct {
		struct rec_name name;
		char text[8];
	} tail = {.name = {.hdr = {.type = REC_NAME, .size = sizeof(tail)}, .name_len = 8}};

	cr_assert_eq(record__check(&plain.hdr), 0);
	cr_assert(record__is_plain(&plain.hdr));
	plain.hdr.size = sizeof(struct rec); /* of an older version, perhaps */
	cr_assert_eq(record__check(&plain.hdr), 0);
	cr_assert(!record__is_plain(&plain.hdr));
	plain.hdr.size = 12;
	cr_assert_eq(record__check(&plain.hdr), -EINVAL);
	plain.hdr.size = 8;
	cr_assert_eq(record__check(&plain.hdr), -EINVAL);
	plain.hdr.size = 0;
	cr_assert_eq(record__check(&plain.hdr), -EINVAL);

	cr_assert_eq(record__check(&tail.name.hdr), 0);
	cr_assert(!record__is_plain(&tail.name.hdr));
	tail.name.name_len = 9;
	cr_assert_eq(record__check(&tail.name.hdr), -EINVAL);
	tail.name.name_len = UINT32_MAX;
	cr_assert_eq(record__check(&tail.name.hdr), -EINVAL);
	tail.name.name_len = 0;
	tail.name.hdr.size = sizeof(struct rec);
	cr_assert_eq(record__check(&tail.name.hdr), -EINVAL);
}

Test(records, every_way_to_lose_has_a_name)
{
	uint64_t why;

	for (why = REC_LOST_RING; why <= REC_LOST_NESTED; why++)
		cr_expect_not_null(record__value_name(REC_FMT_WHY, why), "%d", (int)why);
	cr_expect_str_eq(record__value_name(REC_FMT_WHY, REC_LOST_NESTED), "nested");
	cr_expect_null(record__value_name(REC_FMT_WHY, why));
}
