/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of trace(5), as structs. Private to this folder. */
#ifndef XPUGAP_TRACE_FORMAT_H
#define XPUGAP_TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC	    "\x89XPT\r\n\x1a\n"
#define TRACE_VERSION_MAJOR 1
#define TRACE_VERSION_MINOR 0
#define TRACE_HEAD_MAX	    4096

#define CHUNK_MAGIC	 0x4ba74358u /* "XC", then two bytes that no UTF-8 text has in a row */
#define CHUNK_MAX_BYTES	 (1u << 20)  /* stored, raw, and of the decoded records */
#define CHUNK_MAX_COUNT	 65536u
#define CHUNK_MAX_TYPES	 255u
#define ROUND_MAX_BYTES	 (16u << 20) /* a round ends with the sweep that passes this */
#define ROUND_CUT_BYTES	 (64u << 20) /* and in the middle of one that passes this */
#define READER_MAX_BYTES (256u << 20)
#define INDEX_MAX	 16384u

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "trace(5) is little-endian");

struct trace_head {
	char magic[8];
	uint16_t major;
	uint16_t minor;
	uint32_t head_bytes;
	uint64_t begin_ns;
	uint64_t realtime_ns;
	uint8_t zero[28];
	uint32_t crc;
};
_Static_assert(sizeof(struct trace_head) == 64, "trace(5): head");

enum chunk_kind {
	CHUNK_RECORDS = 1,
	CHUNK_WATERMARK = 2,
	CHUNK_INDEX = 3,
	CHUNK_END = 4,
};

enum chunk_codec {
	CODEC_NONE = 0,
	CODEC_ZSTD = 1,
};

struct chunk_head {
	uint32_t magic;
	uint32_t head_crc; /* of what follows */
	uint8_t kind;
	uint8_t codec;
	uint16_t ring;
	uint32_t seq;
	uint32_t count;
	uint32_t stored;
	uint32_t raw;
	uint32_t crc;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t types;
};
_Static_assert(sizeof(struct chunk_head) == 56, "trace(5): chunk head");

#define CHUNK_CRC_FROM 8 /* head_crc covers the head from here */

struct index_entry {
	uint64_t offset;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t records;
	uint64_t types;
};
_Static_assert(sizeof(struct index_entry) == 40, "trace(5): index entry");

/* ---- columns ---- */

enum column_method {
	COLUMN_ZERO,
	COLUMN_CONST,
	COLUMN_PACKED,
	COLUMN_DICT,
};

enum column_transform {
	TRANSFORM_NONE,
	TRANSFORM_ZIGZAG,
	TRANSFORM_AGE,
	TRANSFORM_DIFF,
	TRANSFORM_ZIGZAG_DIFF,
	TRANSFORM_MAX,
};

#define COLUMN_EXCEPTIONS 0x80u

static inline uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ (uint64_t)((int64_t)v >> 63);
}

static inline uint64_t unzigzag(uint64_t x)
{
	return x >> 1 ^ -(x & 1);
}

/* Bits that @v needs; 0 for 0. */
static inline unsigned int bit_length(uint64_t v)
{
	return v ? 64 - (unsigned int)__builtin_clzll(v) : 0;
}

#endif
