// SPDX-License-Identifier: BSD-2-Clause
#include "userspace/source/mark_usdt.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/hooks/mark.skel.h"
#include "userspace/source/mapping.h"

#define PROVIDER     "xpugap"
#define NOTES	     ".note.stapsdt"
#define MAX_FILES    16 /* with probes; a program has one, perhaps a library with its own copy */
#define MAX_SEEN     4096
#define NPROBES	     3
#define NOTE_STRINGS (3 * 8) /* in a note's descriptor, after three addresses */

struct mark_usdt {
	struct mark_bpf *skel;
	struct bpf_link *links[MAX_FILES * NPROBES];
	unsigned int nlinks;
	/* files that were looked into */
	struct seen {
		dev_t dev;
		ino_t ino;
		int found; /* 1: it has probes; 0; -errno: which cannot be attached to */
	} seen[MAX_SEEN];
	unsigned int nseen;
};

struct mark_usdt *mark_usdt__new(struct hooks *h)
{
	struct mark_usdt *u = calloc(1, sizeof(*u));
	int err = -ENOMEM;

	if (!u)
		return NULL;
	u->skel = mark_bpf__open();
	if (!u->skel) {
		err = -errno;
		goto fail;
	}
	err = hooks__share(h, u->skel->obj);
	if (!err)
		err = mark_bpf__load(u->skel);
	if (!err)
		return u;
fail:
	mark_usdt__free(u);
	errno = -err;
	return NULL;
}

/* ---- which files have probes ---- */

static bool is_ours(Elf_Data *data)
{
	size_t at = 0, name, desc, n;
	GElf_Nhdr note;

	while ((at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		n = sizeof(PROVIDER);
		if (note.n_descsz >= NOTE_STRINGS + n &&
		    !memcmp((char *)data->d_buf + desc + NOTE_STRINGS, PROVIDER, n))
			return true;
	}
	return false;
}

static bool has_probes(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *scn = NULL;
	bool found = false;
	GElf_Shdr shdr;
	size_t names;
	const char *name;
	Elf_Data *data;

	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names))
		goto out;
	while (!found && (scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr))
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (!name || strcmp(name, NOTES) != 0)
			continue;
		data = elf_getdata(scn, NULL);
		found = data && is_ours(data);
	}
out:
	elf_end(elf);
	return found;
}

static struct seen *find_seen(struct mark_usdt *u, const struct stat *st)
{
	for (unsigned int i = 0; i < u->nseen; i++)
		if (u->seen[i].dev == st->st_dev && u->seen[i].ino == st->st_ino)
			return &u->seen[i];
	return NULL;
}

/* ---- attaching ---- */

/* All of a file's probes or none. */
static int attach_file(struct mark_usdt *u, const char *path)
{
	const struct {
		struct bpf_program *prog;
		const char *name;
	} probes[NPROBES] = {
		{u->skel->progs.step, "step"},
		{u->skel->progs.range_begin, "range_begin"},
		{u->skel->progs.range_end, "range_end"},
	};
	unsigned int before = u->nlinks;
	struct bpf_link *link;
	int err;

	if (before == MAX_FILES * NPROBES)
		return -ENOSPC;
	for (int i = 0; i < NPROBES; i++) {
		link = bpf_program__attach_usdt(probes[i].prog, -1, path, PROVIDER, probes[i].name,
						NULL);
		err = link ? 0 : -errno;
		if (err) {
			while (u->nlinks > before)
				bpf_link__destroy(u->links[--u->nlinks]);
			return err;
		}
		u->links[u->nlinks++] = link;
	}
	return 0;
}

/* 1 if the file has probes, which are attached to then; 0; -errno */
static int visit(struct mark_usdt *u, const char *path)
{
	struct seen *seen;
	struct stat st;
	int fd;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	seen = find_seen(u, &st);
	if (seen)
		return seen->found;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || u->nseen == MAX_SEEN)
		goto out;
	seen = &u->seen[u->nseen++];
	*seen = (struct seen){st.st_dev, st.st_ino, has_probes(fd)};
	if (seen->found) {
		int err = attach_file(u, path);

		seen->found = err ? err : 1;
	}
out:
	if (fd >= 0)
		close(fd);
	return seen ? seen->found : 0;
}

struct visit {
	struct mark_usdt *u;
	pid_t pid;
	int files, failed;
};

/*
 * The file behind a mapping, as the process sees it; by way of map_files where it was deleted or
 * replaced since.
 */
static int visit_mapping(void *arg, struct mapping *m)
{
	struct visit *v = arg;
	char path[64 + 4096];
	struct stat st;
	int ret;

	if (m->path[0] != '/' || m->path[1] == '/')
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/root%s", v->pid, m->path);
	if (stat(path, &st) || st.st_ino != m->inode)
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", v->pid,
			 (unsigned long long)m->addr, (unsigned long long)(m->addr + m->len));
	ret = visit(v->u, path);
	if (ret > 0)
		v->files++;
	else if (ret < 0 && (!v->failed || ret == -ENOMEM))
		v->failed = ret;
	return v->failed == -ENOMEM;
}

int mark_usdt__attach(struct mark_usdt *u, pid_t pid, int *failed)
{
	struct visit v = {.u = u, .pid = pid};
	int err;

	elf_version(EV_CURRENT);
	err = mapping__each(pid, visit_mapping, &v);
	*failed = v.failed;
	return err < 0 ? err : v.files;
}

void mark_usdt__free(struct mark_usdt *u)
{
	if (!u)
		return;
	while (u->nlinks)
		bpf_link__destroy(u->links[--u->nlinks]);
	mark_bpf__destroy(u->skel);
	free(u);
}
