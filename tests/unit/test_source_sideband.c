// SPDX-License-Identifier: BSD-2-Clause
/* perf's records, lines of maps, build ids. */
#include <criterion/criterion.h>

#include <elf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userspace/source/build_id.h"
#include "userspace/source/mapping.h"
#include "userspace/source/sideband_ring.h"

struct side {
	char bytes[512];
	size_t n;
};

static void put(struct side *s, const void *p, size_t n)
{
	memcpy(s->bytes + s->n, p, n);
	s->n += n;
}

static void put_u32(struct side *s, uint32_t v)
{
	put(s, &v, sizeof(v));
}

static void put_u64(struct side *s, uint64_t v)
{
	put(s, &v, sizeof(v));
}

static void begin(struct side *s, uint32_t type, uint16_t misc)
{
	const struct perf_event_header h = {.type = type, .misc = misc};

	memset(s, 0, sizeof(*s));
	put(s, &h, sizeof(h));
}

/* The text, padded, and what sample_id_all adds. */
static int finish(struct side *s, const char *text, struct side_event *e)
{
	struct perf_event_header h;

	if (text) {
		put(s, text, strlen(text) + 1);
		s->n = (s->n + 7) & ~7UL;
	}
	put_u32(s, 1);
	put_u32(s, 2);
	put_u64(s, 123456789);
	put_u32(s, 3);
	put_u32(s, 0);
	memcpy(&h, s->bytes, sizeof(h));
	h.size = (uint16_t)s->n;
	memcpy(s->bytes, &h, sizeof(h));
	return side_event__parse(e, s->bytes, (uint32_t)s->n);
}

static void put_map(struct side *s)
{
	put_u32(s, 100);
	put_u32(s, 101);
	put_u64(s, 0x7f0000001000);
	put_u64(s, 0x2000);
	put_u64(s, 0x3000);
}

Test(source_sideband, map_of_a_file)
{
	struct side_event e;
	struct side s;

	begin(&s, PERF_RECORD_MMAP2, 0);
	put_map(&s);
	put_u32(&s, 254);
	put_u32(&s, 7);
	put_u64(&s, 4711);
	put_u64(&s, 1);
	put_u32(&s, 5);
	put_u32(&s, 2);
	cr_assert_eq(finish(&s, "/usr/lib/libx.so", &e), 0);
	cr_assert_eq(e.kind, SIDE_MAP);
	cr_assert_eq(e.time_ns, 123456789);
	cr_assert_eq(e.pid, 100);
	cr_assert_eq(e.tid, 101);
	cr_assert_eq(e.addr, 0x7f0000001000);
	cr_assert_eq(e.len, 0x2000);
	cr_assert_eq(e.pgoff, 0x3000);
	cr_assert_eq(e.dev, 254U << 20 | 7);
	cr_assert_eq(e.inode, 4711);
	cr_assert_eq(e.prot, 5);
	cr_assert_eq(e.mmap_flags, 2);
	cr_assert_str_empty(e.build_id);
	cr_assert_str_eq(e.path, "/usr/lib/libx.so");
}

Test(source_sideband, map_with_build_id)
{
	const uint8_t id[24] = {20, 0, 0, 0, 0x93, 0xac, 0x61, 0xec};
	struct side_event e;
	struct side s;

	begin(&s, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
	put_map(&s);
	put(&s, id, sizeof(id));
	put_u32(&s, 5);
	put_u32(&s, 2);
	cr_assert_eq(finish(&s, "/x", &e), 0);
	cr_assert_str_eq(e.build_id, "93ac61ec00000000000000000000000000000000");
	cr_assert_eq(e.inode, 0);
	s.bytes[8 + 32] = 21; /* longer than one can be */
	cr_assert_eq(side_event__parse(&e, s.bytes, (uint32_t)s.n), -EINVAL);
}

Test(source_sideband, others)
{
	struct side_event e;
	struct side s;

	begin(&s, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	put_u32(&s, 5);
	put_u32(&s, 6);
	cr_assert_eq(finish(&s, "name", &e), 0);
	cr_assert_eq(e.kind, SIDE_COMM);
	cr_assert_eq(e.pid, 5);
	cr_assert_eq(e.tid, 6);
	cr_assert(e.exec);
	cr_assert_str_eq(e.path, "name");
	begin(&s, PERF_RECORD_FORK, 0);
	put_u32(&s, 11);
	put_u32(&s, 12);
	put_u32(&s, 13);
	put_u32(&s, 14);
	put_u64(&s, 99);
	cr_assert_eq(finish(&s, NULL, &e), 0);
	cr_assert_eq(e.kind, SIDE_FORK);
	cr_assert_eq(e.pid, 11);
	cr_assert_eq(e.parent_pid, 12);
	cr_assert_eq(e.tid, 13);
	cr_assert_eq(e.parent_tid, 14);
	begin(&s, PERF_RECORD_LOST, 0);
	put_u64(&s, 1);
	put_u64(&s, 42);
	cr_assert_eq(finish(&s, NULL, &e), 0);
	cr_assert_eq(e.kind, SIDE_LOST);
	cr_assert_eq(e.lost, 42);
	begin(&s, 77, 0);
	cr_assert_eq(finish(&s, NULL, &e), 0);
	cr_assert_eq(e.kind, SIDE_OTHER);
}

Test(source_sideband, cut)
{
	static const uint32_t types[] = {PERF_RECORD_MMAP2, PERF_RECORD_COMM, PERF_RECORD_FORK,
					 PERF_RECORD_EXIT, PERF_RECORD_LOST};
	struct side_event e;
	struct side s;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		begin(&s, types[i], 0);
		cr_assert_eq(finish(&s, NULL, &e), -EINVAL);
		cr_assert_eq(side_event__parse(&e, s.bytes, 8), -EINVAL);
	}
	/* a name that nothing ends */
	begin(&s, PERF_RECORD_COMM, 0);
	put_u64(&s, 1);
	put_u64(&s, ~0ULL);
	cr_assert_eq(finish(&s, NULL, &e), -EINVAL);
}

/* ---- lines of maps ---- */

Test(source_sideband, maps)
{
	struct mapping m;

	cr_assert_eq(mapping__parse(&m, "7f34b1f93000-7f34b20e9000 r-xp 00026000 fe:00 332835    "
					"         /usr/lib/a b.so (deleted)"),
		     0);
	cr_assert_eq(m.addr, 0x7f34b1f93000);
	cr_assert_eq(m.len, 0x156000);
	cr_assert_eq(m.pgoff, 0x26000);
	cr_assert_eq(m.dev, 254U << 20);
	cr_assert_eq(m.inode, 332835);
	cr_assert_eq(m.prot, PROT_READ | PROT_EXEC);
	cr_assert_eq(m.flags, MAP_PRIVATE);
	cr_assert_str_eq(m.path, "/usr/lib/a b.so (deleted)");
	cr_assert_eq(mapping__parse(&m, "1000-2000 rwxs 00000000 00:00 0 "), 0);
	cr_assert_eq(m.prot, PROT_READ | PROT_WRITE | PROT_EXEC);
	cr_assert_eq(m.flags, MAP_SHARED);
	cr_assert_str_eq(m.path, "//anon");
	cr_assert_eq(mapping__parse(&m, "2000-1000 r-xp 00000000 00:00 0"), -EINVAL);
	cr_assert_eq(mapping__parse(&m, "1000-2000 r-x 00000000 00:00 0"), -EINVAL);
	cr_assert_eq(mapping__parse(&m, "1000-2000 r-xp"), -EINVAL);
	cr_assert_eq(mapping__parse(&m, ""), -EINVAL);
}

/* ---- build ids ---- */

static int file_of(const void *bytes, size_t n)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
	return fd;
}

/* An ELF file of one segment of two notes, the second a build id of 8 bytes. */
struct elf {
	Elf64_Ehdr e;
	Elf64_Phdr p;
	Elf64_Nhdr other;
	char other_name[8], other_desc[4];
	Elf64_Nhdr note;
	char name[4];
	uint8_t id[8];
};

static struct elf make_elf(void)
{
	struct elf f = {
		.e = {.e_phoff = offsetof(struct elf, p),
		      .e_phentsize = sizeof(Elf64_Phdr),
		      .e_phnum = 1},
		.p = {.p_type = PT_NOTE,
		      .p_offset = offsetof(struct elf, other),
		      .p_filesz = sizeof(struct elf) - offsetof(struct elf, other),
		      .p_align = 4},
		.other = {5, 3, 1},
		.other_name = "LONG",
		.note = {4, 8, NT_GNU_BUILD_ID},
		.name = "GNU",
		.id = {0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3},
	};

	memcpy(f.e.e_ident, ELFMAG, SELFMAG);
	f.e.e_ident[EI_CLASS] = ELFCLASS64;
	f.e.e_ident[EI_DATA] = ELFDATA2LSB;
	return f;
}

/* The same with 8 for the segment's alignment, as the linker lays out x86's properties. */
struct elf8 {
	Elf64_Ehdr e;
	Elf64_Phdr p;
	Elf64_Nhdr other;
	char other_name[4], other_desc[16];
	Elf64_Nhdr note;
	char name[4];
	uint8_t id[20];
};

static int read_id(const struct elf *f, char hex[BUILD_ID_HEX])
{
	int fd = file_of(f, sizeof(*f)), err = build_id__read(fd, hex);

	close(fd);
	return err;
}

Test(source_sideband, build_id_aligned_to_8)
{
	struct elf8 f = {
		.p = {.p_type = PT_NOTE,
		      .p_offset = offsetof(struct elf8, other),
		      .p_filesz = sizeof(struct elf8) - offsetof(struct elf8, other),
		      .p_align = 8},
		.other = {4, 16, NT_GNU_PROPERTY_TYPE_0},
		.other_name = "GNU",
		.note = {4, 20, NT_GNU_BUILD_ID},
		.name = "GNU",
		.id = {0xde, 0xad, 0xbe, 0xef, 4,  5,  6,  7,  8,  9,
		       10,   11,   12,	 13,   14, 15, 16, 17, 18, 19},
	};
	char hex[BUILD_ID_HEX];
	int fd;

	f.e = make_elf().e;
	f.e.e_phoff = offsetof(struct elf8, p);
	fd = file_of(&f, sizeof(f));
	cr_assert_eq(build_id__read(fd, hex), 0);
	close(fd);
	cr_assert_str_eq(hex, "deadbeef0405060708090a0b0c0d0e0f10111213");
}

Test(source_sideband, build_id)
{
	struct elf f = make_elf();
	char hex[BUILD_ID_HEX];

	cr_assert_eq(read_id(&f, hex), 0);
	cr_assert_str_eq(hex, "deadbeef00010203");
	f.note.n_descsz = 200; /* past the end */
	cr_assert_eq(read_id(&f, hex), -ENOENT);
	cr_assert_str_empty(hex);
	f = make_elf();
	f.other.n_namesz = ~0U;
	cr_assert_eq(read_id(&f, hex), -ENOENT);
	f = make_elf();
	f.p.p_offset = ~0ULL;
	cr_assert_eq(read_id(&f, hex), -ENOENT);
	f = make_elf();
	f.e.e_phoff = ~0ULL;
	cr_assert_eq(read_id(&f, hex), -ENOENT);
	f = make_elf();
	f.e.e_phnum = 0xffff;
	f.e.e_phentsize = 0;
	f.p.p_type = PT_LOAD;
	cr_assert_eq(read_id(&f, hex), -ENOENT);
	f.e.e_ident[0] = 0;
	cr_assert_eq(read_id(&f, hex), -ENOEXEC);
}
