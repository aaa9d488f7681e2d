// SPDX-License-Identifier: GPL-2.0-only
/*
 * The block hook: requests to disks that the target causes, from the queue to their completion.
 *
 * Who causes a request is who puts it into the queue, or, with no scheduler between, who hands it
 * to the driver. Two kinds are handed in by workers: pages that were written to a file earlier,
 * whose file the target is known to have changed; and what waits for the disk's cache to be
 * flushed, which is known by the bio that the target submitted.
 */
#include "bpf/include/block.bpf.h"
#include "bpf/include/filter.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MAX_FILES   16384
#define MAX_FLUSHES 1024
#define MAX_DISKS   1024
#define NAME_LEN    32
#define SECTOR	    512
#define PF_KTHREAD  0x00200000
#define OP_MASK	    0xff
#define MODE_TYPE   0170000
#define MODE_DISK   0060000
#define NO_SECTOR   (~0ULL)

#define MAGIC_TMPFS	0x01021994
#define MAGIC_HUGETLBFS 0x958458f6
#define MAGIC_RAMFS	0x858458f6

/* the kernel's numbers of operations that never changed */
enum { OP_READ = 0, OP_WRITE = 1, OP_FLUSH = 2, OP_DISCARD = 3, OP_ERASE = 5, OP_ZEROES = 9 };

/* what this kernel has, as the recorder found it in the kernel's type information */
const volatile bool rq_after_queue = false; /* before 5.11 the queue is passed, too */
const volatile bool rq_status = true;	    /* completions pass a blk_status_t, not an errno */

/* file → the target that last changed it; the oldest are forgotten */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_FILES);
	__type(key, struct file_key);
	__type(value, __u32);
} changed SEC(".maps");

/* what a target submitted that begins with a flush or ends in one: bio → who and when */
struct submitted {
	__u64 time_ns;
	__u32 tid;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_FLUSHES);
	__type(key, __u64);
	__type(value, struct submitted);
} flushes SEC(".maps");

/* those that a DISK record told of */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_DISKS);
	__type(key, __u32);
	__type(value, __u8);
} disks SEC(".maps");

/* ---- what a request is ---- */

static __always_inline struct gendisk *disk_of(struct request *rq)
{
	struct request___disk *old = (void *)rq;

	if (bpf_core_field_exists(old->rq_disk))
		return BPF_CORE_READ(old, rq_disk);
	return BPF_CORE_READ(rq, q, disk);
}

#define FLAG(bits, name)                                                                           \
	(bpf_core_enum_value_exists(enum req_flag_bits, __REQ_##name) &&                           \
			 (bits)&1ULL << bpf_core_enum_value(enum req_flag_bits, __REQ_##name)      \
		 ? REC_BLOCK_##name                                                                \
		 : 0)

static __always_inline __u16 flags_of(__u64 bits)
{
	return FLAG(bits, SYNC) | FLAG(bits, META) | FLAG(bits, RAHEAD) | FLAG(bits, PREFLUSH) |
	       FLAG(bits, FUA) | FLAG(bits, SWAP);
}

static __always_inline __u8 op_of(__u64 bits)
{
	switch (bits & OP_MASK) {
	case OP_READ:
		return REC_BLOCK_READ;
	case OP_WRITE:
		return REC_BLOCK_WRITE;
	case OP_FLUSH:
		return REC_BLOCK_FLUSH;
	case OP_DISCARD:
		return REC_BLOCK_DISCARD;
	case OP_ERASE:
		return REC_BLOCK_ERASE;
	case OP_ZEROES:
		return REC_BLOCK_ZEROES;
	default:
		return REC_BLOCK_OTHER;
	}
}

/* What @page belongs to: a file's mapping, or NULL for memory of programs and the kernel. */
static __always_inline struct address_space *mapping_of(struct page *page)
{
	struct folio *folio = (void *)page;
	unsigned long head = 0, mapping;

	if (bpf_core_field_exists(page->compound_head))
		head = BPF_CORE_READ(page, compound_head);
	if (head & 1)
		folio = (void *)(head - 1);
	if (bpf_core_field_exists(folio->mapping))
		mapping = (unsigned long)BPF_CORE_READ(folio, mapping);
	else
		mapping = (unsigned long)BPF_CORE_READ((struct page *)folio, mapping);
	return mapping & 3 ? NULL : (void *)mapping; /* these bits: it is something else */
}

/* Files that are memory: their pages are moved only where a program passes them as its own. */
static __always_inline bool in_memory(unsigned long magic)
{
	return magic == MAGIC_TMPFS || magic == MAGIC_HUGETLBFS || magic == MAGIC_RAMFS;
}

/* The file whose cached pages @rq moves, if it does. */
static __always_inline void identify_file(struct request *rq, struct disk_request *r)
{
	struct bio *bio = BPF_CORE_READ(rq, bio);
	struct address_space *mapping;
	struct bio_vec *vec, first;
	struct inode *inode;

	if (r->op != REC_BLOCK_READ && r->op != REC_BLOCK_WRITE)
		return;
	vec = BPF_CORE_READ(bio, bi_io_vec);
	if (!r->bytes || !vec)
		return;
	vec = (void *)vec + BPF_CORE_READ(bio, bi_iter.bi_idx) * bpf_core_type_size(struct bio_vec);
	first.bv_page = BPF_CORE_READ(vec, bv_page);
	mapping = mapping_of(first.bv_page);
	if (!mapping)
		return;
	inode = BPF_CORE_READ(mapping, host);
	if (in_memory(BPF_CORE_READ(inode, i_sb, s_magic)))
		return;
	r->inode = BPF_CORE_READ(inode, i_ino);
	r->generation = BPF_CORE_READ(inode, i_generation);
	r->inode_dev = BPF_CORE_READ(inode, i_sb, s_dev);
}

static __always_inline __u64 sector_of(struct request *rq)
{
	__u64 sector = BPF_CORE_READ(rq, __sector);

	return sector == NO_SECTOR ? 0 : sector;
}

static __always_inline void identify(struct request *rq, struct disk_request *r)
{
	struct gendisk *disk = disk_of(rq);
	__u32 bits = BPF_CORE_READ(rq, cmd_flags);

	r->dev = BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
	r->op = op_of(bits);
	r->flags = flags_of(bits);
	r->bytes = BPF_CORE_READ(rq, __data_len);
	r->sector = sector_of(rq);
	identify_file(rq, r);
}

/* Tell once what the disk of @rq, which is @dev, is called. */
static __always_inline void tell_disk(struct hook_counts *h, struct request *rq, __u32 dev)
{
	struct rec_disk *rec;
	__u8 told = 1;
	char *name;
	long len;

	if (bpf_map_lookup_elem(&disks, &dev))
		return;
	counts__add(&h->hits, 1);
	rec = ring__reserve(h, REC_DISK, sizeof(*rec) + NAME_LEN);
	if (!rec)
		return;
	name = (char *)(rec + 1);
	__builtin_memset(name, 0, NAME_LEN);
	len = bpf_probe_read_kernel_str(name, NAME_LEN, disk_of(rq)->disk_name);
	len = len > 0 ? len - 1 : 0;
	rec->hdr.size = sizeof(*rec) + ((len + REC_ALIGN - 1) & ~(REC_ALIGN - 1));
	rec->hdr.tid = 0;
	rec->hdr.time_ns = bpf_ktime_get_ns();
	rec->dev = dev;
	rec->name_len = len;
	ring__submit_preemptible(h, rec);
	bpf_map_update_elem(&disks, &dev, &told, BPF_ANY);
}

/* ---- who caused it ---- */

/* The target that caused @rq, which @task hands in; 0: none. */
static __always_inline __u32 cause(struct request *rq, struct disk_request *r,
				   struct task_struct *task)
{
	struct file_key key = {.inode = r->inode, .dev = r->inode_dev, .generation = r->generation};
	__u64 bio = (__u64)BPF_CORE_READ(rq, bio);
	struct submitted *s;
	__u32 *tid, mine = task->pid;

	barrier_var(mine); /* else loads by pointers of different kinds become one */
	/* the kernel's own flush on behalf of all who wait for one: any task may hand it in */
	if (r->op == REC_BLOCK_FLUSH)
		return 0;
	if (filter__find(task))
		return mine;
	r->by = mine;
	s = bio ? bpf_map_lookup_elem(&flushes, &bio) : NULL;
	if (s)
		return s->tid;
	if (!(task->flags & PF_KTHREAD) || r->op != REC_BLOCK_WRITE || !r->inode)
		return 0;
	tid = bpf_map_lookup_elem(&changed, &key);
	if (!tid)
		return 0;
	r->flags |= REC_BLOCK_WRITEBACK;
	return *tid;
}

static __always_inline void begin(struct request *rq, const struct disk_request_key *key,
				  bool issued)
{
	struct hook_counts *h = counts__get(REC_HOOK_BLOCK);
	struct disk_request r = {0};
	__u64 t;

	if (!h)
		return;
	t = cost__sample_next(h);
	identify(rq, &r);
	r.tid = cause(rq, &r, bpf_get_current_task_btf());
	if (!r.tid && issued)
		return;
	r.start_ns = bpf_ktime_get_ns();
	if (issued)
		r.issue_ns = r.start_ns;
	if (r.tid)
		tell_disk(h, rq, r.dev);
	else
		r.state = DISK_REQUEST_OTHERS;
	block__keep(h, key, &r, t);
}

static __always_inline struct request *request_of(unsigned long long *ctx)
{
	return (void *)(rq_after_queue ? ctx[1] : ctx[0]);
}

/*
 * ---- programs ----
 *
 * Ends stand before beginnings so that they are attached first: what is kept of a request whose end
 * is not seen would be taken for another one.
 */

/* @rq became part of another and is never completed. */
SEC("?tp_btf/block_rq_merge")
int block_rq_merge(unsigned long long *ctx)
{
	struct disk_request_key key = {.a = (__u64)request_of(ctx)};

	bpf_map_delete_elem(&requests, &key);
	return 0;
}

/* An empty request to flush is completed without having been issued. */
static __always_inline void end_flush(struct request *rq, int err)
{
	struct hook_counts *h = counts__get(REC_HOOK_BLOCK);
	__u64 bio = (__u64)BPF_CORE_READ(rq, bio);
	struct submitted *s = bio ? bpf_map_lookup_elem(&flushes, &bio) : NULL;
	struct disk_request r = {0};

	if (!h || !s)
		return;
	identify(rq, &r);
	if (r.bytes)
		return;
	r.op = REC_BLOCK_FLUSH;
	r.tid = s->tid;
	r.start_ns = s->time_ns;
	tell_disk(h, rq, r.dev);
	block__end(h, &r, err);
}

/* of the kernel's list of blk_status_t: those that have an error of their own */
static const __s16 status_errors[] = {0, 95, 110, 28, 67, 121, 52, 61, 84, 12, 5, 78, 11, 16};

static __always_inline int error_of(__u64 error)
{
	if (!rq_status)
		return (int)error;
	error &= 0xff;
	if (!error)
		return 0;
	return error < sizeof(status_errors) / sizeof(status_errors[0]) ? -status_errors[error]
									: -5;
}

SEC("tp_btf/block_rq_complete")
int block_rq_complete(unsigned long long *ctx)
{
	struct request *rq = (void *)ctx[0];
	struct disk_request_key key = {.a = (__u64)rq};
	struct disk_request *r = bpf_map_lookup_elem(&requests, &key);
	int err = error_of(ctx[1]);
	struct hook_counts *h;

	if (!r) {
		end_flush(rq, err);
		return 0;
	}
	if ((__u32)ctx[2] < BPF_CORE_READ(rq, __data_len)) {
		r->sector += (__u32)ctx[2] / SECTOR; /* where the driver gets the rest */
		return 0;
	}
	h = counts__get(REC_HOOK_BLOCK);
	if (h && r->tid)
		block__end(h, r, err);
	bpf_map_delete_elem(&requests, &key);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int block_rq_issue(unsigned long long *ctx)
{
	struct request *rq = request_of(ctx);
	struct disk_request_key key = {.a = (__u64)rq};
	struct disk_request *r = bpf_map_lookup_elem(&requests, &key);

	if (r && !block__stale(r, &key, sector_of(rq)))
		block__issue(r, sector_of(rq), BPF_CORE_READ(rq, __data_len));
	else
		begin(rq, &key, true);
	return 0;
}

SEC("tp_btf/block_rq_insert")
int block_rq_insert(unsigned long long *ctx)
{
	struct request *rq = request_of(ctx);
	struct disk_request_key key = {.a = (__u64)rq};
	struct disk_request *r = bpf_map_lookup_elem(&requests, &key);

	/* it is known where the driver had no room for it, and it goes back into the queue */
	if (!r || block__stale(r, &key, sector_of(rq)) || !r->tid || r->sector != sector_of(rq))
		begin(rq, &key, false);
	return 0;
}

static __always_inline bool flushes_cache(struct bio *bio)
{
	return flags_of(BPF_CORE_READ(bio, bi_opf)) & (REC_BLOCK_PREFLUSH | REC_BLOCK_FUA);
}

SEC("tp_btf/block_bio_complete")
int block_bio_complete(unsigned long long *ctx)
{
	__u64 key = ctx[1]; /* after the queue, in all kernels */

	if (flushes_cache((struct bio *)key))
		bpf_map_delete_elem(&flushes, &key);
	return 0;
}

SEC("tp_btf/block_bio_queue")
int block_bio_queue(unsigned long long *ctx)
{
	struct bio *bio = (void *)(rq_after_queue ? ctx[1] : ctx[0]);
	struct submitted s = {0};
	struct task_struct *task;
	__u64 key = (__u64)bio;

	if (!flushes_cache(bio))
		return 0;
	task = bpf_get_current_task_btf();
	if (!filter__find(task))
		return 0;
	s.tid = task->pid;
	s.time_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&flushes, &key, &s, BPF_ANY);
	return 0;
}

SEC("tp_btf/writeback_mark_inode_dirty")
int BPF_PROG(writeback_mark_inode_dirty, struct inode *inode, int flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file_key key = {0};
	__u32 tid, *known;

	if (!filter__find(task) || (inode->i_mode & MODE_TYPE) == MODE_DISK)
		return 0; /* a disk's own pages hold what all files of its file system share */
	tid = task->pid;
	key.inode = inode->i_ino;
	key.dev = inode->i_sb->s_dev;
	key.generation = inode->i_generation;
	known = bpf_map_lookup_elem(&changed, &key);
	if (!known || *known != tid)
		bpf_map_update_elem(&changed, &key, &tid, BPF_ANY);
	return 0;
}
