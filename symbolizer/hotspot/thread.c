#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/hotspot/hs_private.h"

enum {
	THREADS_MAX = 1 << 17,
	MISS_NS = 10 * 1000 * 1000, /* between two readings of the list for unknown tids */
	/* A list may stand where the one before the last stood: its address alone proves nothing for long. */
	UNCHANGED_MISS_NS = 100 * 1000 * 1000,
	UNCHANGED_HIT_NS = 1000 * 1000 * 1000,
	COST_SHARE = 4, /* reading the list again may take a fourth of the time */
};

/* Addresses of the JavaThreads; *ret is the caller's. */
static int list_smr(struct hotspot *hs, uint64_t list, uint64_t **ret, size_t *ret_n)
{
	const struct hs_layout *l = &hs->l;
	uint64_t n, array, *v;

	if (!object_ok(list) || !hs_get(hs, list, l->tlist_length, &n) ||
		!hs_get(hs, list, l->tlist_threads, &array) || n > THREADS_MAX)
		return -EAGAIN;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	if (n && !hs_read_fresh(hs, array, v, (uint32_t)(8 * n))) {
		free(v);
		return -EAGAIN;
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

/* JDK 8 to 11: linked. */
static int list_linked(struct hotspot *hs, uint64_t first, uint64_t **ret, size_t *ret_n)
{
	VEC(uint64_t) v = {0};

	for (uint64_t t = first; object_ok(t) && v.n < THREADS_MAX;) {
		if (!vec_push(&v, t)) {
			vec_done(&v);
			return -ENOMEM;
		}
		if (!hs_get(hs, t, hs->l.jt_next, &t))
			break;
	}
	*ret = v.v;
	*ret_n = v.n;
	return 0;
}

static struct hs_field list_var(const struct hotspot *hs)
{
	return hs->l.threads_smr.ok ? hs->l.threads_smr : hs->l.threads_list;
}

/* Two batches: what the JavaThreads say, then the tids from their OSThreads. */
struct thread_read {
	uint64_t os, base, size;
	uint32_t tid;
};

static void details_read(struct hotspot *hs, const uint64_t *addrs, size_t n, struct thread_read *t,
			 struct mem_span *s)
{
	const struct hs_layout *l = &hs->l;

	for (size_t i = 0; i < n; i++) {
		s[3 * i] = (struct mem_span){addrs[i] + l->jt_osthread.at, &t[i].os, 8, false};
		s[3 * i + 1] = (struct mem_span){addrs[i] + l->jt_stack_base.at, &t[i].base, 8, false};
		s[3 * i + 2] = (struct mem_span){addrs[i] + l->jt_stack_size.at, &t[i].size, 8, false};
	}
	mem_read_batch(hs->mem, s, 3 * n);
	for (size_t i = 0; i < n; i++) {
		if (!s[3 * i].ok || !s[3 * i + 1].ok || !s[3 * i + 2].ok)
			t[i].os = 0;
		s[i] = (struct mem_span){t[i].os + l->os_tid.at, &t[i].tid, 4, false};
	}
	mem_read_batch(hs->mem, s, n);
	for (size_t i = 0; i < n; i++)
		if (!s[i].ok || !object_ok(t[i].os))
			t[i].tid = 0;
}

static int threads_store(struct hotspot *hs, const uint64_t *addrs, size_t n,
			 const struct thread_read *t)
{
	hs->threads.n = 0;
	hs->thread_os.n = 0;
	u64map_clear(&hs->thread_ids);
	hs->list_incomplete = false;
	for (size_t i = 0; i < n; i++) {
		struct hs_thread thread = {addrs[i], (int32_t)t[i].tid, t[i].base, t[i].size};

		/* One that is just being created has neither. */
		if (thread.ns_tid <= 0 || thread.stack_size > thread.stack_base) {
			hs->list_incomplete = true;
			continue;
		}
		if (!vec_push(&hs->threads, thread) || !vec_push(&hs->thread_os, t[i].os) ||
			!u64map_put(&hs->thread_ids, (uint64_t)thread.ns_tid,
				(uint32_t)hs->threads.n))
			return -ENOMEM;
	}
	return 0;
}

static int list_read(struct hotspot *hs)
{
	uint64_t *addrs CLEANUP(free_at_exit) = NULL;
	struct thread_read *t CLEANUP(free_at_exit) = NULL;
	struct mem_span *s CLEANUP(free_at_exit) = NULL;
	uint64_t list;
	size_t n = 0, kept = 0;
	int r;

	if (!hs_read_fresh(hs, list_var(hs).at, &list, 8))
		return -EFAULT;
	hs->list_addr = list;
	r = hs->l.threads_smr.ok ? list_smr(hs, list, &addrs, &n) : list_linked(hs, list, &addrs, &n);
	if (r) {
		hs->list_incomplete = true;
		return r;
	}
	t = calloc(n + 1, sizeof(*t));
	s = calloc(3 * n + 1, sizeof(*s));
	if (!t || !s)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (object_ok(addrs[i]))
			addrs[kept++] = addrs[i];
	details_read(hs, addrs, kept, t, s);
	r = threads_store(hs, addrs, kept, t);
	hs->list_incomplete |= kept < n;
	return r;
}

/* What cannot be read costs a system call each, so that a list of garbage takes a second or more. */
int hs_thread_refresh(struct hotspot *hs)
{
	int r;

	hs->list_ns = clock_monotonic_ns();
	r = list_read(hs);
	hs->list_cost_ns = clock_monotonic_ns() - hs->list_ns;
	return r;
}

static bool too_dear(const struct hotspot *hs)
{
	return hs->list_ns && (clock_monotonic_ns() - hs->list_ns) / COST_SHARE < hs->list_cost_ns;
}

/* Has the list been replaced since it was read? The linked one has no such mark. */
static bool list_changed(struct hotspot *hs)
{
	uint64_t now;

	return hs->list_incomplete || !hs->l.threads_smr.ok ||
		!hs_get(hs, 0, hs->l.threads_smr, &now) || now != hs->list_addr;
}

/* Is the JavaThread still that of the tid? */
static bool thread_same(struct hotspot *hs, uint32_t index)
{
	uint64_t os, tid;

	return hs_get(hs, hs->threads.v[index].addr, hs->l.jt_osthread, &os) &&
		os == hs->thread_os.v[index] && hs_get(hs, os, hs->l.os_tid, &tid) &&
		(int32_t)tid == hs->threads.v[index].ns_tid;
}

static uint32_t index_of(const struct hotspot *hs, int32_t ns_tid)
{
	return ns_tid > 0 ? u64map_get(&hs->thread_ids, (uint64_t)ns_tid) : 0;
}

/* Is what the list says of this tid (index + 1, 0: nothing) good enough? */
static bool list_fresh(struct hotspot *hs, uint32_t i)
{
	uint64_t age = clock_monotonic_ns() - hs->list_ns;
	bool changed;

	if (!i && (!hs->list_ns || age < MISS_NS))
		return hs->list_ns != 0;
	changed = list_changed(hs);
	if (i)
		return changed ? thread_same(hs, i - 1) : age < UNCHANGED_HIT_NS;
	return !changed && age < UNCHANGED_MISS_NS;
}

const struct hs_thread *hs_thread_find(struct hotspot *hs, int32_t ns_tid)
{
	uint32_t i = index_of(hs, ns_tid);

	if (!list_fresh(hs, i)) {
		if (too_dear(hs) || hs_thread_refresh(hs) < 0)
			return NULL;
		i = index_of(hs, ns_tid);
	}
	return i ? &hs->threads.v[i - 1] : NULL;
}

size_t hs_thread_count(const struct hotspot *hs)
{
	return hs->threads.n;
}

const struct hs_thread *hs_thread_at(const struct hotspot *hs, size_t i)
{
	return i < hs->threads.n ? &hs->threads.v[i] : NULL;
}

static bool anchor_read(struct hotspot *hs, uint64_t addr, struct hs_anchor *ret)
{
	const struct hs_layout *l = &hs->l;

	*ret = (struct hs_anchor){0};
	if (!l->anchor_sp.ok || !l->anchor_pc.ok || !hs_get(hs, addr, l->anchor_sp, &ret->sp) ||
		!hs_get(hs, addr, l->anchor_pc, &ret->pc))
		return false;
	/* Not everywhere; without it 0 is right. */
	hs_get(hs, addr, l->anchor_fp, &ret->fp);
	return true;
}

bool hs_thread_anchor(struct hotspot *hs, const struct hs_thread *t, struct hs_anchor *ret)
{
	return hs->l.jt_anchor.ok && anchor_read(hs, t->addr + hs->l.jt_anchor.at, ret) &&
		ret->sp != 0;
}

bool hs_wrapper_anchor(struct hotspot *hs, uint64_t wrapper, struct hs_anchor *ret)
{
	return hs->l.wrapper_anchor.ok && object_ok(wrapper) &&
		anchor_read(hs, wrapper + hs->l.wrapper_anchor.at, ret);
}

uint64_t hs_thread_cont_entry(struct hotspot *hs, const struct hs_thread *t)
{
	struct hs_field f = {(uint64_t)hs->cont_entry_offset, 8, true, false};
	uint64_t v;

	return hs->cont_entry_offset > 0 && hs_get(hs, t->addr, f, &v) && object_ok(v) ? v : 0;
}

uint64_t hs_cont_entry_parent(struct hotspot *hs, uint64_t entry)
{
	uint64_t v;

	return hs_get(hs, entry, hs->l.cont_parent, &v) && object_ok(v) ? v : 0;
}

bool hs_thread_in_deopt(struct hotspot *hs, const struct hs_thread *t)
{
	uint64_t v;

	return hs_get(hs, t->addr, hs->l.jt_vframes, &v) && v != 0;
}

/* The states on the way into another count as it: they take nanoseconds, and 28 has none. */
const char *hs_thread_state_name(struct hotspot *hs, const struct hs_thread *t)
{
	const struct {
		struct hs_constant c;
		const char *name;
	} names[] = {
		{hs->l.c.thread_in_java, "in_Java"},
		{hs->l.c.thread_in_vm, "in_vm"},
		{hs->l.c.thread_in_native, "in_native"},
		{hs->l.c.thread_blocked, "blocked"},
		{hs->l.c.thread_new, "new"},
		{hs->l.c.thread_in_java_trans, "in_Java"},
		{hs->l.c.thread_in_vm_trans, "in_vm"},
		{hs->l.c.thread_in_native_trans, "in_native"},
		{hs->l.c.thread_blocked_trans, "blocked"},
		{hs->l.c.thread_new_trans, "new"},
	};
	uint64_t v;

	if (!hs_get(hs, t->addr, hs->l.jt_state, &v))
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].c.ok && (uint64_t)names[i].c.value == v)
			return names[i].name;
	return NULL;
}
