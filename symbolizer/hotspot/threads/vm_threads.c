#include <stdio.h>
#include <string.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/threads/thread_list.h"

/*
 * Names of the JVM's own threads. The kernel keeps only 15 characters of a name. Java threads have a java.lang.Thread;
 * the others, of collectors and of the VM itself, are in the list NonJavaThread::_the_list, which begins with its head
 * (JDK 12 to 28, nonJavaThread.hpp). The JVM's tables do not have the list, so a libjvm.so with symbols is needed. Of
 * its threads' fields the tables have NamedThread::_processed_thread; the name is the pointer before it, and
 * NonJavaThread::_next the one before that. Other threads have something else there, so a name is valid only if it
 * begins like the kernel's.
 */
#define LIST "_ZN13NonJavaThread9_the_listE"

enum {
	COMM = 15,
	THREADS_MAX = 1 << 14,
	NAME_BACK = 8, /* back from _processed_thread */
	NEXT_BACK = 16,
	COST_SHARE = 16, /* searches may take a sixteenth of the time, plus COST_FREE_NS */
};
#define COST_FREE_NS UINT64_C(500000000)

void vm_threads_find(struct thread_list *list, hs_symbol_fn *symbol, void *ctx)
{
	uint64_t address;

	if (list->jvm->l.nt_processed.ok && list->jvm->l.nt_processed.at >= NEXT_BACK && symbol(ctx, LIST, &address) &&
	    addr_ok(address))
		list->vm_threads = address;
}

static bool is_cut_name(const char *name, const char *comm)
{
	return strncmp(name, comm, COMM) == 0 && strlen(name) > COMM;
}

/*
 * Every named thread takes a search of the list, which may be long or circular, so the time for all searches is
 * limited.
 */
static bool reads_too_long(struct thread_list *list, uint64_t now_ns)
{
	if (!list->vm_threads_from_ns)
		list->vm_threads_from_ns = now_ns;
	return list->vm_threads_cost_ns > COST_FREE_NS + (now_ns - list->vm_threads_from_ns) / COST_SHARE;
}

/* The thread with this tid; 0: none. */
static uint64_t search_list(struct thread_list *list, int32_t ns_tid)
{
	uint64_t t, os, tid;

	if (!mem_read_u64(list->jvm->mem, list->vm_threads, &t))
		return 0;
	for (unsigned i = 0; i < THREADS_MAX && object_ok(t); i++) {
		if (jvm_get(list->jvm, t, list->jvm->l.jt_osthread, &os) && object_ok(os) &&
		    jvm_get(list->jvm, os, list->jvm->l.os_tid, &tid) && (int32_t)tid == ns_tid)
			return t;
		if (!mem_read_u64(list->jvm->mem, t + list->jvm->l.nt_processed.at - NEXT_BACK, &t))
			break;
	}
	return 0;
}

static uint64_t find_thread(struct thread_list *list, int32_t ns_tid)
{
	uint64_t now_ns, t;

	if (!list->vm_threads)
		return 0;
	now_ns = clock_monotonic_ns();
	if (reads_too_long(list, now_ns))
		return 0;
	t = search_list(list, ns_tid);
	list->vm_threads_cost_ns += clock_monotonic_ns() - now_ns;
	return t;
}

/* Threads whose names are longer than the kernel's but in no object, or in one that does not exist yet. */
static const char *known_name(const char *comm)
{
	static const char *const names[] = {
		"VM Periodic Task Thread",   "Monitor Deflation Thread",   "Reference Handler",
		"Signal Dispatcher",         "Notification Thread",        "ArchiveWorkerThread",
		"Shenandoah Control Thread", "Shenandoah Uncommit Thread", "StringDedupProcessor",
		"VM JFR Buffer Thread",      "Attach Listener Thread",     "Concurrent Mark-Sweep GC Thread",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (is_cut_name(names[i], comm))
			return names[i];
	return NULL;
}

/* JDK 8 to 28: vmThread.cpp, watcherThread.cpp (thread.cpp up to 17), workgroup.cpp and workerThread.cpp, g1*Thread.cpp. */
bool hs_is_vm_thread(const char *comm)
{
	static const char *const names[] = {"VM Thread", "VM Periodic Tas", "G1 Main Marker", "G1 Service"};
	static const char *const numbered[] = {"GC Thread#", "G1 Conc#", "G1 Refine#"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(comm, names[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(numbered) / sizeof(*numbered); i++)
		if (strncmp(comm, numbered[i], strlen(numbered[i])) == 0)
			return true;
	return false;
}

bool hs_vm_thread_name(struct hotspot *hs, int32_t ns_tid, const char *comm, char *buf, size_t size)
{
	uint64_t t, name;
	const char *known;

	if (strlen(comm) != COMM || ns_tid <= 0)
		return false;
	t = hs ? find_thread(hs->threads, ns_tid) : 0;
	if (t && mem_read_u64(hs->jvm->mem, t + hs->jvm->l.nt_processed.at - NAME_BACK, &name) && object_ok(name) &&
	    mem_read_cstr(hs->jvm->mem, name, buf, size) && is_cut_name(buf, comm))
		return true;
	known = known_name(comm);
	if (known)
		snprintf(buf, size, "%s", known);
	return known != NULL;
}
