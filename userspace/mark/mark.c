// SPDX-License-Identifier: BSD-2-Clause
/* The marks: each one record, written where the recorder reads it. */
#include "userspace/mark/xpugap_mark.h"

#include <string.h>

#include "userspace/mark/hash.h"
#include "userspace/mark/probes.h"
#include "userspace/mark/write.h"

PROBE_SEMAPHORE(step);
PROBE_SEMAPHORE(range_begin);
PROBE_SEMAPHORE(range_end);

bool xpugap_recording(void)
{
	if (unlikely(mark__state() == MARK_TRY))
		mark__attach_now();
	return mark__state() != MARK_OFF || PROBE_WANTED(step) || PROBE_WANTED(range_begin);
}

/* Who reads them sees the lower half of the state, which is all of it. */
const volatile uint16_t *xpugap_wanted(unsigned int what)
{
	const volatile uint16_t *const at[] = {
		(const volatile uint16_t *)(const volatile void *)&mark_state,
		&xpugap_step_semaphore,
		&xpugap_range_begin_semaphore,
		&xpugap_range_end_semaphore,
	};

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower half comes first");
	return what < sizeof(at) / sizeof(at[0]) ? at[what] : NULL;
}

uint64_t xpugap_now(void)
{
	if (unlikely(mark__state() == MARK_TRY))
		mark__attach_now();
	return mark__clock_ns();
}

bool xpugap_connect(const char *address)
{
	return mark__connect(address);
}

static void mark_step(uint64_t step, uint64_t items)
{
	struct mark_thread *t = mark__enter();
	struct rec_mark_step *r;

	if (!t)
		return;
	r = mark__reserve(t, REC_MARK_STEP, sizeof(*r));
	if (r) {
		r->step = step;
		r->items = items;
		mark__commit(t, sizeof(*r));
	}
	mark__leave();
}

void xpugap_step(uint64_t step, uint64_t items)
{
	if (mark__state() != MARK_OFF) {
		mark_step(step, items);
		if (mark__state() != MARK_OFF)
			return;
	}
	if (PROBE_WANTED(step))
		STAP_PROBE2(xpugap, step, step, items);
}

void xpugap_step_end(uint64_t items)
{
	xpugap_step(REC_NO_STEP, items);
}

/* Records that hold an id and perhaps a number: struct rec_unit_* and rec_range_*. */
static void mark_unit(uint16_t type, uint64_t unit, uint64_t second, uint32_t size)
{
	struct mark_thread *t = mark__enter();
	struct rec_unit_end *r;

	if (!t)
		return;
	r = mark__reserve(t, type, size);
	if (r) {
		r->unit = unit;
		if (size == sizeof(*r))
			r->items = second;
		mark__commit(t, size);
	}
	mark__leave();
}

void xpugap_unit_begin(uint64_t unit, const char *kind)
{
	struct mark_thread *t;
	struct rec_unit_begin *r;
	uint64_t id;

	if (likely(mark__state() == MARK_OFF))
		return;
	t = mark__enter();
	if (!t)
		return;
	if (mark__name_id(t, kind, &id)) {
		r = mark__reserve(t, REC_UNIT_BEGIN, sizeof(*r));
		if (r) {
			r->unit = unit;
			r->kind = id;
			mark__commit(t, sizeof(*r));
		}
	}
	mark__leave();
}

void xpugap_unit_handover(uint64_t unit)
{
	if (unlikely(mark__state() != MARK_OFF))
		mark_unit(REC_UNIT_HANDOVER, unit, 0, sizeof(struct rec_unit_handover));
}

void xpugap_unit_end(uint64_t unit, uint64_t items)
{
	if (unlikely(mark__state() != MARK_OFF))
		mark_unit(REC_UNIT_END, unit, items, sizeof(struct rec_unit_end));
}

/* Records that hold no more than a name: struct rec_range_begin, rec_range_end, rec_role. */
static void mark_name(uint16_t type, const char *name)
{
	struct mark_thread *t = mark__enter();
	struct rec_role *r;
	uint64_t id;

	if (!t)
		return;
	if (mark__name_id(t, name, &id)) {
		r = mark__reserve(t, type, sizeof(*r));
		if (r) {
			r->name = id;
			mark__commit(t, sizeof(*r));
		}
	}
	mark__leave();
}

static __attribute__((noinline)) void probe_range_begin(const char *name)
{
	size_t len = name ? strnlen(name, MARK_NAME_MAX) : 0;

	STAP_PROBE3(xpugap, range_begin, name ? mark_hash(name, len) : 0, name, len);
}

static __attribute__((noinline)) void probe_range_end(const char *name)
{
	size_t len = name ? strnlen(name, MARK_NAME_MAX) : 0;

	STAP_PROBE3(xpugap, range_end, name ? mark_hash(name, len) : 0, name, len);
}

void xpugap_range_begin(const char *name)
{
	if (mark__state() != MARK_OFF) {
		mark_name(REC_RANGE_BEGIN, name);
		if (mark__state() != MARK_OFF)
			return;
	}
	if (PROBE_WANTED(range_begin))
		probe_range_begin(name);
}

void xpugap_range_end(const char *name)
{
	if (mark__state() != MARK_OFF) {
		mark_name(REC_RANGE_END, name);
		if (mark__state() != MARK_OFF)
			return;
	}
	if (PROBE_WANTED(range_end))
		probe_range_end(name);
}

void xpugap_role(const char *role)
{
	if (unlikely(mark__state() != MARK_OFF))
		mark_name(REC_ROLE, role);
}

void xpugap_counter(const char *name, double value)
{
	struct mark_thread *t;
	struct rec_counter *r;
	uint64_t id;

	if (likely(mark__state() == MARK_OFF))
		return;
	t = mark__enter();
	if (!t)
		return;
	if (mark__name_id(t, name, &id)) {
		r = mark__reserve(t, REC_COUNTER, sizeof(*r));
		if (r) {
			r->name = id;
			r->value = value;
			mark__commit(t, sizeof(*r));
		}
	}
	mark__leave();
}

/* Remembered while nobody records too: a recorder that comes later is told when we attach. */
void xpugap_device(uint32_t device, const char *name)
{
	struct mark_thread *t = NULL;

	name = name ? name : "";
	if (mark_tls.busy) {
		mark__count_lost();
		return;
	}
	if (mark__state() != MARK_OFF)
		t = mark__enter_uncounted();
	mark_tls.busy = 1;
	__asm__ volatile("" ::: "memory");
	if (t)
		mark__emit_device(t, device, name);
	else if (mark__state() == MARK_ON)
		mark__count_lost(); /* our recorder was told of devices before */
	mark_devices__remember(device, name);
	mark__leave();
}

uint64_t xpugap_correlation(void)
{
	struct mark_thread *t;
	uint64_t corr;

	if (likely(mark__state() == MARK_OFF))
		return 1;
	if (unlikely(mark_tls.busy))
		return mark__correlation_block(1);
	t = mark__enter_uncounted();
	if (!t) {
		mark__leave();
		return mark__correlation_block(1);
	}
	if (unlikely(t->corr == t->corr_end)) {
		t->corr = mark__correlation_block(4096);
		t->corr_end = t->corr + 4096;
	}
	corr = t->corr++;
	mark__leave();
	return corr;
}

void xpugap_launch(uint32_t device, uint16_t queue, enum xpugap_span_kind kind, const char *name,
		   uint64_t corr)
{
	struct mark_thread *t;
	struct rec_launch *r;
	uint64_t id;

	if (likely(mark__state() == MARK_OFF))
		return;
	t = mark__enter();
	if (!t)
		return;
	if (mark__name_id(t, name, &id)) {
		r = mark__reserve(t, REC_LAUNCH, sizeof(*r));
		if (r) {
			r->corr = corr;
			r->name = id;
			r->device = device;
			r->queue = queue;
			r->kind = (uint8_t)kind;
			r->pad = 0;
			mark__commit(t, sizeof(*r));
		}
	}
	mark__leave();
}

void xpugap_span(uint32_t device, uint16_t queue, enum xpugap_span_kind kind, const char *name,
		 uint64_t start_ns, uint64_t end_ns, uint64_t corr, uint64_t bytes)
{
	struct mark_thread *t;

	if (likely(mark__state() == MARK_OFF))
		return;
	t = mark__enter();
	if (!t)
		return;
	mark__put_span(t, name,
		       &(struct mark_span){
			       .device = device,
			       .queue = queue,
			       .kind = (uint8_t)kind,
			       .start_ns = start_ns,
			       .end_ns = end_ns,
			       .corr = corr,
			       .bytes = bytes,
		       });
	mark__leave();
}
