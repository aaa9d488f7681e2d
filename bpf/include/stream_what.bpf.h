/* SPDX-License-Identifier: GPL-2.0-only */
/* What a pipe or socket is, told once: its kind, its addresses, the socket at its other end. */
#ifndef XPUGAP_STREAM_WHAT_BPF_H
#define XPUGAP_STREAM_WHAT_BPF_H

#include <bpf/bpf_endian.h>
#include "bpf/include/file.bpf.h"

#define MAX_STREAMS   16384
#define MAX_LOOKS     64 /* for a peer that may never be known */
#define NAME_ROOM     128
#define MODE_PIPE     0010000
#define MODE_SOCKET   0140000
#define MAGIC_PIPEFS  0x50495045
#define MAGIC_SOCKFS  0x534f434b
#define FAMILY_UNIX   1
#define FAMILY_INET   2
#define FAMILY_INET6  10
#define PROTOCOL_TCP  6
#define PROTOCOL_UDP  17
#define SUN_PATH_AT   2 /* in a struct sockaddr_un */
#define SUN_PATH_MAX  108
#define MAPPED_PREFIX 0xffff0000ULL /* of an address of version 4 as one of version 6 */

/*
 * struct stream_seen - a pipe or socket that a target has met
 * @told: digest of what the last STREAM record said of it; 0: there was none
 * @peer_inode: of the socket at the other end; 0: not known
 * @tids: who read from it last, and who wrote
 * @looks: how often it was looked at
 * @kind: enum rec_stream_kind
 * @whole: all is told
 */
struct stream_seen {
	__u64 told;
	__u64 peer_inode;
	__u32 tids[2];
	__u16 looks;
	__u8 kind;
	__u8 whole;
	__u32 pad;
};

/* those met last; one that is forgotten is told again */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_STREAMS);
	__type(key, struct file_key);
	__type(value, struct stream_seen);
} streams SEC(".maps");

/* An end of a TCP connection: its peer is the same with both swapped. */
struct tcp_end {
	__u64 net; /* addresses are those of this network namespace */
	__u64 local[2];
	__u64 remote[2];
	__u32 local_port;
	__u32 remote_port;
};

/* → inode, of connections of which a target holds an end */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_STREAMS);
	__type(key, struct tcp_end);
	__type(value, __u64);
} tcp_ends SEC(".maps");

/* Where names are put together: the verifier lets no stack be that large. */
struct stream_names {
	char local[2 * NAME_ROOM];
	char remote[2 * NAME_ROOM];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stream_names);
} stream_names SEC(".maps");

static __always_inline struct sock *sock_of(struct file *file)
{
	void *inode = BPF_CORE_READ(file, f_inode);
	struct socket_alloc *around = inode - bpf_core_field_offset(struct socket_alloc, vfs_inode);

	return BPF_CORE_READ(around, socket.sk);
}

/* What @file is known by; false if it is only a name of a socket in a file system (O_PATH). */
static __always_inline bool stream_key(struct file_key *key, struct file *file)
{
	struct inode *inode = LOAD(file, f_inode);
	struct super_block *sb = LOAD(inode, i_sb);
	unsigned long magic = LOAD(sb, s_magic);

	key->inode = LOAD(inode, i_ino);
	key->dev = LOAD(sb, s_dev);
	key->generation = 0;
	if (magic != MAGIC_PIPEFS && magic != MAGIC_SOCKFS)
		key->generation = LOAD(inode, i_generation);
	return magic == MAGIC_SOCKFS || (LOAD(inode, i_mode) & MODE_TYPE) == MODE_PIPE;
}

static __always_inline __u8 kind_of(struct file *file, __u32 type)
{
	struct sock *sk;
	__u16 family;

	if (type == MODE_PIPE)
		return BPF_CORE_READ(file, f_inode, i_sb, s_magic) == MAGIC_PIPEFS
			       ? REC_STREAM_PIPE
			       : REC_STREAM_FIFO;
	sk = sock_of(file);
	family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (family == FAMILY_UNIX)
		return REC_STREAM_UNIX;
	if (family != FAMILY_INET && family != FAMILY_INET6)
		return REC_STREAM_SOCKET;
	switch (BPF_CORE_READ(sk, sk_protocol)) {
	case PROTOCOL_TCP:
		return REC_STREAM_TCP;
	case PROTOCOL_UDP:
		return REC_STREAM_UDP;
	default:
		return REC_STREAM_INET;
	}
}

static __always_inline struct stream_seen *stream__find(const struct file_key *key,
							struct file *file, __u32 type)
{
	struct stream_seen *seen = bpf_map_lookup_elem(&streams, key), first = {0};

	if (seen)
		return seen;
	first.kind = kind_of(file, type);
	bpf_map_update_elem(&streams, key, &first, BPF_NOEXIST);
	return bpf_map_lookup_elem(&streams, key);
}

/* ---- the other end ---- */

static __always_inline __u64 unix_peer(struct sock *sk)
{
	struct unix_sock *u = (void *)sk;
	struct socket_alloc *around;

	if (!bpf_core_field_exists(u->peer))
		return 0;
	around = (void *)BPF_CORE_READ(u, peer, sk_socket); /* NULL until it is accepted */
	return around ? BPF_CORE_READ(around, vfs_inode.i_ino) : 0;
}

static __always_inline void read_addresses(struct tcp_end *end, struct sock *sk)
{
	struct in6_addr *from;

	end->local[0] = end->remote[0] = 0;
	end->local[1] = MAPPED_PREFIX | (__u64)BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr) << 32;
	end->remote[1] = MAPPED_PREFIX | (__u64)BPF_CORE_READ(sk, __sk_common.skc_daddr) << 32;
	if (BPF_CORE_READ(sk, __sk_common.skc_family) != FAMILY_INET6 ||
	    !bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
		return;
	from = &sk->__sk_common.skc_v6_rcv_saddr;
	bpf_probe_read_kernel(end->local, sizeof(end->local), from);
	from = &sk->__sk_common.skc_v6_daddr;
	bpf_probe_read_kernel(end->remote, sizeof(end->remote), from);
}

/* Remember whose end this is; the inode of the other one, if a target holds that. */
static __always_inline __u64 tcp_peer(struct sock *sk, __u64 inode)
{
	struct tcp_end here = {0}, there = {0};
	__u64 *found;

	here.remote_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (!here.remote_port)
		return 0;
	here.local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	if (bpf_core_field_exists(sk->__sk_common.skc_net.net))
		here.net = (__u64)BPF_CORE_READ(sk, __sk_common.skc_net.net);
	read_addresses(&here, sk);
	bpf_map_update_elem(&tcp_ends, &here, &inode, BPF_ANY);
	there.net = here.net;
	there.local_port = here.remote_port;
	there.remote_port = here.local_port;
	there.local[0] = here.remote[0];
	there.local[1] = here.remote[1];
	there.remote[0] = here.local[0];
	there.remote[1] = here.local[1];
	found = bpf_map_lookup_elem(&tcp_ends, &there);
	return found ? *found : 0;
}

/* ---- names ---- */

static __always_inline __u32 unix_name(char *to, struct sock *sk)
{
	struct unix_sock *u = (void *)sk;
	struct unix_address *addr = sk ? BPF_CORE_READ(u, addr) : NULL;
	__u64 len = addr ? (__u32)BPF_CORE_READ(addr, len) : 0;
	void *path = (void *)addr + bpf_core_field_offset(struct unix_address, name) + SUN_PATH_AT;

	if (len <= SUN_PATH_AT || len > SUN_PATH_AT + SUN_PATH_MAX)
		return 0;
	len -= SUN_PATH_AT;
	barrier_var(len); /* the verifier wants to see the bound of this */
	if (len > SUN_PATH_MAX || bpf_probe_read_kernel(to, len, path))
		return 0;
	if (!*to)
		*to = '@';
	else if (!to[(len - 1) & (NAME_ROOM - 1)])
		len--;
	return len;
}

/* @address and @port as text; none of a socket that has none. */
static __always_inline __u32 inet_name(char *to, __u16 family, const void *v4, const void *v6,
				       __u32 port)
{
	long n;

	if (!port)
		return 0;
	if (family == FAMILY_INET6)
		n = BPF_SNPRINTF(to, NAME_ROOM, "[%pI6]:%u", v6, port);
	else
		n = BPF_SNPRINTF(to, NAME_ROOM, "%pI4:%u", v4, port);
	return n > 1 && n < NAME_ROOM ? n - 1 : 0;
}

static __always_inline void put_names(struct rec_stream *rec, struct stream_names *n,
				      struct sock *sk)
{
	struct unix_sock *u = (void *)sk;
	struct sock_common *k = &sk->__sk_common;

	if (rec->family == FAMILY_UNIX && bpf_core_field_exists(u->peer)) {
		rec->local_len = unix_name(n->local, sk);
		rec->remote_len = unix_name(n->remote, BPF_CORE_READ(u, peer));
	} else if (rec->family == FAMILY_INET || rec->family == FAMILY_INET6) {
		if (!bpf_core_field_exists(k->skc_v6_daddr))
			rec->family = FAMILY_INET;
		rec->local_len = inet_name(n->local, rec->family, &k->skc_rcv_saddr,
					   &k->skc_v6_rcv_saddr, BPF_CORE_READ(k, skc_num));
		rec->remote_len = inet_name(n->remote, rec->family, &k->skc_daddr, &k->skc_v6_daddr,
					    bpf_ntohs(BPF_CORE_READ(k, skc_dport)));
	}
}

/* The tail of @rec, which becomes as long as that is. */
static __always_inline void copy_names(struct rec_stream *rec, const struct stream_names *n)
{
	__u32 local = rec->local_len & (NAME_ROOM - 1), remote = rec->remote_len & (NAME_ROOM - 1);
	char *tail = (char *)(rec + 1);
	__u32 len = local + remote;

	*(__u64 *)(tail + (len & (2 * NAME_ROOM - 8))) = 0; /* what follows up to the end */
	bpf_probe_read_kernel(tail, local, n->local);
	bpf_probe_read_kernel(tail + local, remote, n->remote);
	rec->hdr.size = sizeof(*rec) + ((len + REC_ALIGN - 1) & ~(REC_ALIGN - 1));
}

/* ---- telling ---- */

static __always_inline void fill_socket(struct rec_stream *rec, struct stream_names *n,
					struct sock *sk)
{
	struct pid *pid = BPF_CORE_READ(sk, sk_peer_pid);

	rec->peer_pid = pid ? BPF_CORE_READ(pid, numbers[0].nr) : 0;
	rec->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	rec->type = BPF_CORE_READ(sk, sk_type);
	rec->protocol = BPF_CORE_READ(sk, sk_protocol);
	rec->state = BPF_CORE_READ(sk, __sk_common.skc_state);
	put_names(rec, n, sk);
}

static __always_inline bool tell_stream(struct hook_counts *h, struct task_struct *task,
					const struct file_key *key, const struct stream_seen *seen,
					struct sock *sk)
{
	__u32 zero = 0;
	struct stream_names *n = bpf_map_lookup_elem(&stream_names, &zero);
	struct rec_stream *rec;

	if (!n)
		return false;
	h->hits++;
	rec = ring__reserve(h, REC_STREAM, sizeof(*rec) + 2 * NAME_ROOM + 8);
	if (!rec)
		return false;
	__builtin_memset(&rec->inode, 0, sizeof(*rec) - sizeof(rec->hdr));
	rec->hdr.tid = task->pid;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->inode = key->inode;
	rec->dev = key->dev;
	rec->kind = seen->kind;
	rec->peer_inode = seen->peer_inode;
	if (sk)
		fill_socket(rec, n, sk);
	copy_names(rec, n);
	ring__submit(h, rec);
	return true;
}

/* A digest of what may change of a socket while it is used; never 0. */
static __always_inline __u64 digest_of(struct sock *sk, __u64 peer_inode)
{
	__u64 d = peer_inode * 31 + BPF_CORE_READ(sk, __sk_common.skc_num);
	__u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);

	d = d * 31 + BPF_CORE_READ(sk, __sk_common.skc_dport);
	d = d * 31 + BPF_CORE_READ(sk, __sk_common.skc_daddr);
	if (state == REC_SOCKET_LISTEN || state == REC_SOCKET_ESTABLISHED)
		d = d * 31 + state;
	return d | 1ULL << 63;
}

static __always_inline void look_at_socket(struct hook_counts *h, struct task_struct *task,
					   const struct file_key *key, struct stream_seen *seen,
					   struct sock *sk)
{
	__u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);
	__u64 peer = 0, digest;

	if (seen->kind == REC_STREAM_UNIX)
		peer = unix_peer(sk);
	else if (seen->kind == REC_STREAM_TCP)
		peer = tcp_peer(sk, key->inode);
	if (peer) /* once known it stays: a peer that is gone was there */
		seen->peer_inode = peer;
	digest = digest_of(sk, seen->peer_inode);
	/* how a connection ends is no news */
	if (digest != seen->told &&
	    (!seen->told || peer || state == REC_SOCKET_LISTEN ||
	     state == REC_SOCKET_ESTABLISHED) &&
	    tell_stream(h, task, key, seen, sk))
		seen->told = digest;
	if (seen->looks < MAX_LOOKS)
		seen->looks++;
	seen->whole = peer ? seen->told == digest : seen->looks == MAX_LOOKS;
}

/* Look at a stream of which not all is known yet, and tell what is new. */
static __always_inline void look(struct hook_counts *h, struct task_struct *task,
				 struct task_state *s, struct file *file,
				 const struct file_key *key, struct stream_seen *seen)
{
	if (seen->kind != REC_STREAM_PIPE && seen->kind != REC_STREAM_FIFO) {
		look_at_socket(h, task, key, seen, sock_of(file));
		return;
	}
	if (seen->whole || !tell_stream(h, task, key, seen, NULL))
		return;
	seen->whole = 1;
	if (seen->kind == REC_STREAM_FIFO && !s->file.start_ns) {
		__builtin_memset(&s->file, 0, sizeof(s->file));
		identify_file(&s->file, file);
		tell_file(h, task->pid, file, &s->file);
	}
}

#endif
