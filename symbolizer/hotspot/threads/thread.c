#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/threads/thread_list.h"

enum {
	THREADS_MAX = 1 << 17,
	MISS_NS = 10 * 1000 * 1000, /* between two reads of the list for unknown tids */
	/*
	 * A new list may have the same address as an earlier one, so an unchanged address is trusted only for a while.
	 */
	UNCHANGED_MISS_NS = 100 * 1000 * 1000,
	UNCHANGED_HIT_NS = 1000 * 1000 * 1000,
	COST_SHARE = 4, /* reading the list may take a quarter of the time */
};

void thread_list_done(struct thread_list *list)
{
	vec_done(&list->threads);
	u64map_done(&list->ids);
}

/* Reads the addresses of the JavaThreads; the caller frees *ret. */
static int list_smr(struct jvm *jvm, uint64_t at, uint64_t **ret, size_t *ret_n)
{
	const struct hs_layout *l = &jvm->l;
	uint64_t n, array, *v;

	if (!object_ok(at) || !jvm_get(jvm, at, l->tlist_length, &n) || !jvm_get(jvm, at, l->tlist_threads, &array) ||
	    n > THREADS_MAX)
		return -EAGAIN;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	if (n && !jvm_read_fresh(jvm, array, v, (uint32_t)(8 * n))) {
		free(v);
		return -EAGAIN;
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

/* The same for JDK 8 to 11: a linked list. */
static int list_linked(struct jvm *jvm, uint64_t first, uint64_t **ret, size_t *ret_n)
{
	VEC(uint64_t) v = {0};

	for (uint64_t t = first; object_ok(t) && v.n < THREADS_MAX;) {
		if (!vec_push(&v, t)) {
			vec_done(&v);
			return -ENOMEM;
		}
		if (!jvm_get(jvm, t, jvm->l.jt_next, &t))
			break;
	}
	*ret = v.v;
	*ret_n = v.n;
	return 0;
}

static struct hs_field list_var(const struct jvm *jvm)
{
	return jvm->l.threads_smr.ok ? jvm->l.threads_smr : jvm->l.threads_list;
}

bool threads_begun(struct jvm *jvm)
{
	uint64_t at, n = 1;

	if (!jvm_read_fresh(jvm, list_var(jvm).at, &at, 8))
		return true;
	if (jvm->l.threads_smr.ok && object_ok(at) && !jvm_get(jvm, at, jvm->l.tlist_length, &n))
		return true;
	return at && n;
}

/* The fields of a thread, read in two batches: the JavaThreads, then the tids in their OSThreads. */
struct thread_read {
	uint64_t os, base, size;
	uint32_t tid;
};

static void details_read(struct jvm *jvm, const uint64_t *addrs, size_t n, struct thread_read *t, struct mem_span *s)
{
	const struct hs_layout *l = &jvm->l;

	for (size_t i = 0; i < n; i++) {
		s[3 * i] = (struct mem_span){addrs[i] + l->jt_osthread.at, &t[i].os, 8, false};
		s[3 * i + 1] = (struct mem_span){addrs[i] + l->jt_stack_base.at, &t[i].base, 8, false};
		s[3 * i + 2] = (struct mem_span){addrs[i] + l->jt_stack_size.at, &t[i].size, 8, false};
	}
	mem_read_batch(jvm->mem, s, 3 * n);
	for (size_t i = 0; i < n; i++) {
		if (!s[3 * i].ok || !s[3 * i + 1].ok || !s[3 * i + 2].ok)
			t[i].os = 0;
		s[i] = (struct mem_span){t[i].os + l->os_tid.at, &t[i].tid, 4, false};
	}
	mem_read_batch(jvm->mem, s, n);
	for (size_t i = 0; i < n; i++)
		if (!s[i].ok || !object_ok(t[i].os))
			t[i].tid = 0;
}

static int threads_store(struct thread_list *list, const uint64_t *addrs, size_t n, const struct thread_read *t)
{
	list->threads.n = 0;
	u64map_clear(&list->ids);
	list->incomplete = false;
	for (size_t i = 0; i < n; i++) {
		struct hs_thread thread = {addrs[i], (int32_t)t[i].tid, t[i].base, t[i].size, t[i].os, list->read_ns};

		/* A thread that is being created has no tid and no stack. */
		if (thread.ns_tid <= 0 || thread.stack_size > thread.stack_base) {
			list->incomplete = true;
			continue;
		}
		if (!vec_push(&list->threads, thread) ||
		    !u64map_put(&list->ids, (uint64_t)thread.ns_tid, (uint32_t)list->threads.n))
			return -ENOMEM;
	}
	return 0;
}

static int list_read(struct thread_list *list)
{
	struct jvm *jvm = list->jvm;
	uint64_t *addrs CLEANUP(free_at_exit) = NULL;
	struct thread_read *t CLEANUP(free_at_exit) = NULL;
	struct mem_span *s CLEANUP(free_at_exit) = NULL;
	uint64_t at;
	size_t n = 0, kept = 0;
	int r;

	if (!jvm_read_fresh(jvm, list_var(jvm).at, &at, 8))
		return -EFAULT;
	list->addr = at;
	r = jvm->l.threads_smr.ok ? list_smr(jvm, at, &addrs, &n) : list_linked(jvm, at, &addrs, &n);
	if (r) {
		list->incomplete = true;
		return r;
	}
	t = calloc(n + 1, sizeof(*t));
	s = calloc(3 * n + 1, sizeof(*s));
	if (!t || !s)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (object_ok(addrs[i]))
			addrs[kept++] = addrs[i];
	details_read(jvm, addrs, kept, t, s);
	r = threads_store(list, addrs, kept, t);
	list->incomplete |= kept < n;
	return r;
}

/* Measures the time: each unreadable entry costs a system call, so a list of garbage may take a second or more. */
static int refresh(struct thread_list *list)
{
	int r;

	list->read_ns = clock_monotonic_ns();
	r = list_read(list);
	list->cost_ns = clock_monotonic_ns() - list->read_ns;
	return r;
}

int hs_thread_refresh(struct hotspot *hs)
{
	return refresh(hs->threads);
}

static bool reads_too_long(const struct thread_list *list)
{
	return list->read_ns && (clock_monotonic_ns() - list->read_ns) / COST_SHARE < list->cost_ns;
}

/* Has the list been replaced since it was read? For the linked list this is unknown. */
static bool list_changed(struct thread_list *list)
{
	uint64_t now;

	return list->incomplete || !list->jvm->l.threads_smr.ok ||
	       !jvm_get(list->jvm, 0, list->jvm->l.threads_smr, &now) || now != list->addr;
}

/* Does the JavaThread still have this tid? */
static bool thread_same(struct thread_list *list, uint32_t index)
{
	const struct hs_thread *t = &list->threads.v[index];
	uint64_t os, tid;

	return jvm_get(list->jvm, t->addr, list->jvm->l.jt_osthread, &os) && os == t->os &&
	       jvm_get(list->jvm, os, list->jvm->l.os_tid, &tid) && (int32_t)tid == t->ns_tid;
}

static uint32_t index_of(const struct thread_list *list, int32_t ns_tid)
{
	return ns_tid > 0 ? u64map_get(&list->ids, (uint64_t)ns_tid) : 0;
}

/* Is the entry still reliable? */
static bool entry_fresh(struct thread_list *list, uint32_t index)
{
	struct hs_thread *t = &list->threads.v[index];
	uint64_t now = clock_monotonic_ns();

	if (now - t->checked_ns < UNCHANGED_HIT_NS && !list_changed(list))
		return true;
	if (!thread_same(list, index))
		return false;
	t->checked_ns = now;
	return true;
}

/* Is it certain enough that the list has no entry for a tid? */
static bool miss_fresh(struct thread_list *list)
{
	uint64_t age = clock_monotonic_ns() - list->read_ns;

	if (!list->read_ns || age < MISS_NS)
		return list->read_ns != 0;
	return age < UNCHANGED_MISS_NS && !list_changed(list);
}

const struct hs_thread *hs_thread_find(struct hotspot *hs, int32_t ns_tid)
{
	struct thread_list *list = hs->threads;
	uint32_t i = index_of(list, ns_tid);

	if (!(i ? entry_fresh(list, i - 1) : miss_fresh(list))) {
		if (reads_too_long(list) || refresh(list) < 0)
			return NULL;
		i = index_of(list, ns_tid);
	}
	return i ? &list->threads.v[i - 1] : NULL;
}

size_t hs_thread_count(const struct hotspot *hs)
{
	return hs->threads->threads.n;
}

const struct hs_thread *hs_thread_at(const struct hotspot *hs, size_t i)
{
	const struct thread_list *list = hs->threads;

	return i < list->threads.n ? &list->threads.v[i] : NULL;
}

static bool anchor_read(struct jvm *jvm, uint64_t addr, struct hs_anchor *ret)
{
	const struct hs_layout *l = &jvm->l;

	*ret = (struct hs_anchor){0};
	if (!l->anchor_sp.ok || !l->anchor_pc.ok || !jvm_get(jvm, addr, l->anchor_sp, &ret->sp) ||
	    !jvm_get(jvm, addr, l->anchor_pc, &ret->pc))
		return false;
	/* Not every JVM exports the fp; 0 is then correct. */
	jvm_get(jvm, addr, l->anchor_fp, &ret->fp);
	return true;
}

bool hs_thread_anchor(struct hotspot *hs, const struct hs_thread *t, struct hs_anchor *ret)
{
	return hs->jvm->l.jt_anchor.ok && anchor_read(hs->jvm, t->addr + hs->jvm->l.jt_anchor.at, ret) && ret->sp != 0;
}

bool hs_wrapper_anchor(struct hotspot *hs, uint64_t wrapper, struct hs_anchor *ret)
{
	return hs->jvm->l.wrapper_anchor.ok && object_ok(wrapper) &&
	       anchor_read(hs->jvm, wrapper + hs->jvm->l.wrapper_anchor.at, ret);
}

uint64_t hs_thread_cont_entry(struct hotspot *hs, const struct hs_thread *t)
{
	uint64_t v;

	return jvm_get(hs->jvm, t->addr, hs->jvm->l.jt_cont_entry, &v) && object_ok(v) ? v : 0;
}

uint64_t hs_cont_entry_parent(struct hotspot *hs, uint64_t entry)
{
	uint64_t v;

	return jvm_get(hs->jvm, entry, hs->jvm->l.cont_parent, &v) && object_ok(v) ? v : 0;
}

bool hs_thread_in_deopt(struct hotspot *hs, const struct hs_thread *t)
{
	uint64_t v;

	return jvm_get(hs->jvm, t->addr, hs->jvm->l.jt_vframes, &v) && v != 0;
}
