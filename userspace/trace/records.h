/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of every record and field, generated from bpf/include/events.h. */
#ifndef XPUGAP_TRACE_RECORDS_H
#define XPUGAP_TRACE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/include/events.h"

/* How a field is printed: events.h says what they mean. */
enum record_format {
	REC_FMT_DEC,
	REC_FMT_HEX,
	REC_FMT_NS,
	REC_FMT_TIME,
	REC_FMT_BYTES,
	REC_FMT_DEV,
	REC_FMT_MODE,
	REC_FMT_RET,
	REC_FMT_NAME,
	REC_FMT_TID,
	REC_FMT_STATE,
	REC_FMT_FLAGS,
	REC_FMT_REAL,
	REC_FMT_HOOK,
	REC_FMT_WHY,
	REC_FMT_HOOK_STATE,
	REC_FMT_ROW_STATE,
	REC_FMT_SPAN_KIND,
	REC_FMT_FAULT_AREA,
	REC_FMT_SOFTIRQ,
	REC_FMT_BLOCK_OP,
	REC_FMT_FILE_CALL,
	REC_FMT_STREAM_CALL,
	REC_FMT_STREAM_KIND,
	REC_FMT_SOCKET_STATE,
	REC_FMT_WAIT_CALL,
	REC_FMT_DMA_CALL,
	REC_FMT_DMA_DIR,
	REC_FMT_FUTEX_OP,
	REC_FMT_SAMPLE_EVENT,
	REC_FMT_STACK_KIND,
	REC_FMT_STACK_BY,
	REC_FMT_IO_URING_OP,
	REC_FMT_CHAR,
	REC_FMT_CPU,
	REC_FMT_LEN,
	REC_FMT_ADDRS,
	REC_FMT_PAD,
	REC_FMT_COMM, /* REC_COMM_LEN bytes of text */
};

/* Is the field the length of a part of the tail? */
static inline bool record_format__is_length(enum record_format format)
{
	return format == REC_FMT_LEN || format == REC_FMT_ADDRS;
}

struct record_field {
	const char *name;
	uint16_t offset; /* in the record */
	uint8_t width;	 /* bytes */
	bool is_signed;
	enum record_format format;
};

struct record_desc {
	uint16_t type;
	uint16_t hook;
	uint16_t size; /* of the head and the fixed part */
	uint16_t n_fields;
	uint16_t n_texts; /* strings and lists in the tail */
	bool has_tail;
	const char *name;
	const char *what;
	const struct record_field *fields;
};

/* The description of @type, NULL if this program does not know it. */
const struct record_desc *record__find(uint16_t type);
const struct record_desc *record__by_name(const char *name);

/* The @i-th description in the order of events.h, NULL past the last. */
const struct record_desc *record__at(size_t i);

/* Name of a hook family ("sched"), NULL if unknown. */
const char *record__hook_name(uint32_t hook);

/* What @value of a field with @format is called ("ring", "attached"); NULL if it has no name. */
const char *record__value_name(enum record_format format, uint64_t value);

/*
 * The @i-th string, or list, of the tail of @rec, not NUL-terminated; *@len is its length. NULL
 * with 0 if there is none. Only for records that passed record__check(), as all that a reader
 * delivers did.
 */
const char *record__text(const struct rec *rec, unsigned int i, size_t *len);

/*
 * Is @rec well formed: its size a multiple of REC_ALIGN, not below its head, and long enough for
 * the strings of its tail? 0 or -EINVAL. A record shorter than its struct is well formed if its
 * type has no tail.
 */
int record__check(const struct rec *rec);

/* Sizes of the types that have no tail; 0 for the others. */
extern const uint16_t record_plain_sizes[REC_TYPE_MAX];

/* Is @rec exactly as long as its struct and without a tail, which makes it well formed? */
static inline bool record__is_plain(const struct rec *rec)
{
	return rec->type < REC_TYPE_MAX && rec->size == record_plain_sizes[rec->type] && rec->size;
}

/*
 * Build a record with a tail in @buf of @size bytes: the head and fixed part are copied from
 * @fixed (of its type's size), the LEN fields (no ADDRS: their parts stay empty) and the size are
 * set from the @n strings. Strings that do not fit are cut. Returns the record, NULL if not even
 * the fixed part fits.
 */
struct rec *record__build(void *buf, size_t size, const struct rec *fixed, const char *const *texts,
			  unsigned int n);

#endif
