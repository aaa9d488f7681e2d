/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of a mark hub, shared by mark_hub.c and mark_drain.c only. */
#ifndef XPUGAP_SOURCE_MARK_DRAIN_H
#define XPUGAP_SOURCE_MARK_DRAIN_H

#include <stdbool.h>

#include "userspace/mark/abi.h"
#include "userspace/source/mark_hub.h"
#include "userspace/source/mark_peer.h"
#include "userspace/source/mark_ring.h"

#define MARK_WAITING  64	   /* connections whose hello has not come yet */
#define MARK_LOST_MAX (1ULL << 40) /* marks between two sweeps, of a program that says so */
#define MARK_REASONS  8		   /* for refusing somebody, that are said */

/* The consumer's side of a ring. */
struct mark_slot {
	uint64_t head; /* as this sweep found it */
	uint64_t tail;
	uint64_t lost; /* of the ring's counter, reported so far */
	uint64_t bad;  /* records, not reported yet */
	uint64_t last_ns;
	uint64_t idle_ns; /* no record was being written then */
	pid_t ns_tid;	  /* the last one seen, and what it is here */
	pid_t tid;
	bool damaged; /* never read again */
};

/* A region: only the positions are mapped, data is copied out by pread(). */
struct mark_map {
	struct mark_map *next;
	struct mark_process *process;
	struct mark_region *shm;
	size_t shm_bytes;
	uint32_t slots;
	uint32_t used; /* slots that this sweep looks at */
	uint64_t ring_bytes;
	uint64_t lost; /* of the region's counter, reported so far */
	int fd;
	struct mark_slot slot[];
};

struct mark_process {
	struct mark_process *next;
	struct mark_map *maps;
	uint32_t nmaps;
	pid_t pid;
	pid_t ns_pid;
	uint32_t uid;
	uint32_t image;
	bool nested; /* in a pid namespace below ours */
	bool gone;
	bool damaged; /* a ring of it was: said */
	int pidfd;
};

/* A ring that has records, while they are merged. */
struct mark_run {
	struct mark_map *map;
	struct mark_slot *slot;
	struct mark_walk walk;
	struct rec *rec; /* the next one */
	uint64_t head;	 /* where this sweep ends */
};

struct mark_hub {
	struct mark_hub_opts opts;
	struct mark_hub_stats stats;
	char address[MARK_ADDRESS_MAX + 64];
	int listen_fd;
	int epoll_fd;
	uid_t uid;
	uid_t allowed_uid;
	struct mark_targets targets; /* their descendants may mark whatever their uid */
	bool tell_tasks;
	uint64_t swept_ns;     /* when the last sweep began */
	uint64_t horizon_ns;   /* no record older than this will come */
	unsigned int fill_pct; /* of the fullest ring that it found */
	struct mark_process *processes;
	uint32_t nfds;	       /* that they take */
	uint64_t ringless;     /* marks lost by processes that have no ring, not reported yet */
	uint64_t ringless_bad; /* excuses that cannot be */
	char said[MARK_REASONS][MARK_WHY_MAX];
	unsigned int nsaid;
	struct {
		int fd;
		uint64_t since_ns;
	} waiting[MARK_WAITING];
	struct mark_run *runs;
	uint32_t nruns, max_runs;
	unsigned char *windows; /* of the runs */
	size_t windows_bytes;
};

/* Takes @fd over. NULL with errno; the caller keeps @fd then. */
struct mark_map *mark_map__new(int fd, uint32_t slots, uint64_t ring_bytes);
/* Tell the program that its marks are not wanted any more. */
void mark_map__close(struct mark_map *m);
void mark_map__free(struct mark_map *m);

void mark_drain__free(struct mark_hub *h);
/*
 * Hand on what the rings hold that is not younger than @began_ns; returns as mark_hub__poll().
 */
int mark_drain__sweep(struct mark_hub *h, uint64_t began_ns,
		      int (*emit)(void *arg, const struct rec *rec), void *arg);
/* Did the last sweep take all that it saw of @p? */
bool mark_drain__is_empty(const struct mark_process *p);

#endif
