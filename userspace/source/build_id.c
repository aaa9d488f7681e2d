// SPDX-License-Identifier: BSD-2-Clause
/* Files of any kind come here, so nothing in them is trusted. */
#include "userspace/source/build_id.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SEGMENTS   256
#define MAX_NOTE_BYTES 65536 /* of a segment that is looked through */

#if __BYTE_ORDER == __LITTLE_ENDIAN
#define ELFDATA_NATIVE ELFDATA2LSB
#else
#define ELFDATA_NATIVE ELFDATA2MSB
#endif

void build_id__print(char hex[BUILD_ID_HEX], const uint8_t *id, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < n && i < BUILD_ID_MAX; i++) {
		hex[2 * i] = digits[id[i] >> 4];
		hex[2 * i + 1] = digits[id[i] & 15];
	}
	hex[2 * i] = '\0';
}

/*
 * @align: 4, or 8 in segments that say so. The offsets of a note's parts from its beginning are
 * rounded, not their sizes.
 */
static size_t round_up(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

static int find_note(const uint8_t *at, size_t bytes, size_t align, char hex[BUILD_ID_HEX])
{
	Elf64_Nhdr note; /* the same for 32 bits */

	while (bytes >= sizeof(note)) {
		size_t desc, next;

		memcpy(&note, at, sizeof(note));
		if (note.n_namesz > bytes)
			break;
		desc = round_up(sizeof(note) + note.n_namesz, align);
		if (desc > bytes || note.n_descsz > bytes - desc)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(at + sizeof(note), "GNU", 4) == 0 && note.n_descsz &&
		    note.n_descsz <= BUILD_ID_MAX) {
			build_id__print(hex, at + desc, note.n_descsz);
			return 0;
		}
		next = round_up(desc + note.n_descsz, align);
		if (next > bytes)
			break;
		at += next;
		bytes -= next;
	}
	return -ENOENT;
}

struct segment {
	uint64_t offset, bytes, align;
};

static int look_into(int fd, const struct segment *s, char hex[BUILD_ID_HEX])
{
	size_t want = s->bytes < MAX_NOTE_BYTES ? s->bytes : MAX_NOTE_BYTES;
	uint8_t *buf = malloc(want ? want : 1);
	int err = -ENOENT;
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	n = pread(fd, buf, want, (off_t)s->offset);
	if (n > 0)
		err = find_note(buf, (size_t)n, s->align == 8 ? 8 : 4, hex);
	free(buf);
	return err;
}

/* Program header @i; false when there is none. */
static bool read_segment(int fd, const Elf64_Ehdr *e, bool wide, unsigned int i, struct segment *s,
			 uint32_t *type)
{
	off_t at = (off_t)(e->e_phoff + (uint64_t)i * e->e_phentsize);
	Elf64_Phdr p64;
	Elf32_Phdr p32;

	if (wide) {
		if (pread(fd, &p64, sizeof(p64), at) != sizeof(p64))
			return false;
		*s = (struct segment){p64.p_offset, p64.p_filesz, p64.p_align};
		*type = p64.p_type;
	} else {
		if (pread(fd, &p32, sizeof(p32), at) != sizeof(p32))
			return false;
		*s = (struct segment){p32.p_offset, p32.p_filesz, p32.p_align};
		*type = p32.p_type;
	}
	return s->offset <= INT64_MAX / 2;
}

int build_id__read(int fd, char hex[BUILD_ID_HEX])
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr e32;
		Elf64_Ehdr e64;
	} u;
	struct segment s;
	unsigned int i;
	uint32_t type;
	bool wide;
	int err;

	hex[0] = '\0';
	memset(&u, 0, sizeof(u));
	if (pread(fd, &u, sizeof(u), 0) < (ssize_t)sizeof(u.e32) ||
	    memcmp(u.ident, ELFMAG, SELFMAG) != 0 || u.ident[EI_DATA] != ELFDATA_NATIVE)
		return -ENOEXEC;
	wide = u.ident[EI_CLASS] == ELFCLASS64;
	if (!wide) { /* only these are used */
		Elf32_Ehdr e = u.e32;

		u.e64.e_phoff = e.e_phoff;
		u.e64.e_phentsize = e.e_phentsize;
		u.e64.e_phnum = e.e_phnum;
	}
	if (u.e64.e_phoff > INT64_MAX / 2)
		return -ENOENT;
	for (i = 0; i < u.e64.e_phnum && i < MAX_SEGMENTS; i++) {
		if (!read_segment(fd, &u.e64, wide, i, &s, &type))
			break;
		err = type == PT_NOTE ? look_into(fd, &s, hex) : -ENOENT;
		if (err != -ENOENT)
			return err;
	}
	return -ENOENT;
}
