/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names that the kernel has as strings: a record holds an id, and a NAME record tells the string
 * once. The id is the one that marks use, XXH64 with seed 0, of which only the part for short
 * strings is needed here: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
 */
#ifndef XPUGAP_NAME_BPF_H
#define XPUGAP_NAME_BPF_H

#include "bpf/include/ring.bpf.h"

#define NAME_WORDS 4 /* with the NUL: what is longer is cut */
#define NAME_LEN   (NAME_WORDS * 8)
#define MAX_NAMES  4096

#define XXH_P1 0x9E3779B185EBCA87ULL
#define XXH_P2 0xC2B2AE3D27D4EB4FULL
#define XXH_P3 0x165667B19E3779F9ULL
#define XXH_P4 0x85EBCA77C2B2AE63ULL
#define XXH_P5 0x27D4EB2F165667C5ULL

/* ids of which a NAME told */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_NAMES);
	__type(key, __u64);
	__type(value, __u8);
} names SEC(".maps");

static __always_inline __u64 name__rotl(__u64 v, int n)
{
	return v << n | v >> (64 - n);
}

static __always_inline __u64 name__word(__u64 acc, __u64 word)
{
	return name__rotl(acc ^ name__rotl(word * XXH_P2, 31) * XXH_P1, 27) * XXH_P1 + XXH_P4;
}

static __always_inline __u64 name__byte(__u64 acc, __u64 rest)
{
	return name__rotl(acc ^ (rest & 0xff) * XXH_P5, 11) * XXH_P1;
}

/* The id of the @len bytes in @w, fewer than NAME_LEN, with zeros behind them. */
static __always_inline __u64 name__id(const __u64 *w, __u32 len)
{
	__u64 acc = XXH_P5 + len, rest = w[0];

	if (len >= 8) {
		acc = name__word(acc, w[0]);
		rest = w[1];
	}
	if (len >= 16) {
		acc = name__word(acc, w[1]);
		rest = w[2];
	}
	if (len >= 24) {
		acc = name__word(acc, w[2]);
		rest = w[3];
	}
	if (len & 4) {
		acc = name__rotl(acc ^ (rest & 0xffffffff) * XXH_P1, 23) * XXH_P2 + XXH_P3;
		rest >>= 32;
	}
	if ((len & 3) >= 1)
		acc = name__byte(acc, rest);
	if ((len & 3) >= 2)
		acc = name__byte(acc, rest >> 8);
	if ((len & 3) == 3)
		acc = name__byte(acc, rest >> 16);
	acc = (acc ^ acc >> 33) * XXH_P2;
	acc = (acc ^ acc >> 29) * XXH_P3;
	return acc ^ acc >> 32;
}

static __always_inline void name__tell(struct hook_counts *h, __u64 id, const __u64 *w, __u32 len)
{
	struct rec_name *rec;
	__u8 told = 1;

	__sync_fetch_and_add(&h->hits, 1);
	rec = ring__reserve(h, REC_NAME, sizeof(*rec) + NAME_LEN);
	if (!rec)
		return;
	__builtin_memcpy(rec + 1, w, NAME_LEN);
	rec->hdr.size = sizeof(*rec) + ((len + REC_ALIGN - 1) & ~(REC_ALIGN - 1));
	rec->hdr.tid = 0;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->id = id;
	rec->name_len = len;
	rec->pad = 0;
	ring__submit_preemptible(h, rec);
	bpf_map_update_elem(&names, &id, &told, BPF_ANY);
}

/* The id of the kernel's string @from, which is told of if it was not; 0: it is empty. */
static __always_inline __u64 name__of(struct hook_counts *h, const void *from)
{
	__u64 w[NAME_WORDS] = {0}, id;
	long len = from ? bpf_probe_read_kernel_str(w, sizeof(w), from) : 0;

	if (len <= 1)
		return 0;
	len = (len - 1) & (NAME_LEN - 1);
	id = name__id(w, len);
	if (!bpf_map_lookup_elem(&names, &id))
		name__tell(h, id, w, len);
	return id;
}

#endif
