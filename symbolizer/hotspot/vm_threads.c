#include <stdio.h>
#include <string.h>

#include "symbolizer/hotspot/hs_private.h"

/*
 * Names of the JVM's own threads. The kernel keeps 15 characters of a name. Java threads have a java.lang.Thread; the
 * others, of collectors and of the VM itself, stand in the list NonJavaThread::_the_list, whose head comes first (JDK 12
 * to 28, nonJavaThread.hpp), which is no entry of the JVM's tables: it takes a libjvm.so with symbols. Of their fields the
 * tables give NamedThread::_processed_thread; the name is the pointer in front of it, NonJavaThread::_next the one before
 * that. What is no NamedThread has something else there, so a name counts only when it begins as the kernel's does.
 */
#define LIST "_ZN13NonJavaThread9_the_listE"

enum {
	COMM = 15,
	THREADS_MAX = 1 << 14,
	NAME_BACK = 8, /* from _processed_thread */
	NEXT_BACK = 16,
};

void vm_threads_find(struct hotspot *hs, hs_symbol_fn *symbol, void *ctx)
{
	uint64_t address;

	if (hs->l.nt_processed.ok && hs->l.nt_processed.at >= NEXT_BACK && symbol(ctx, LIST, &address) && addr_ok(address))
		hs->vm_threads = address;
}

static bool is_cut_name(const char *name, const char *comm)
{
	return strncmp(name, comm, COMM) == 0 && strlen(name) > COMM;
}

/* The thread of this tid; 0: none such. */
static uint64_t find_thread(struct hotspot *hs, int32_t ns_tid)
{
	uint64_t t, os, tid;

	if (!hs || !hs->vm_threads || !mem_read_u64(hs->mem, hs->vm_threads, &t))
		return 0;
	for (unsigned i = 0; i < THREADS_MAX && object_ok(t); i++) {
		if (hs_get(hs, t, hs->l.jt_osthread, &os) && object_ok(os) && hs_get(hs, os, hs->l.os_tid, &tid) &&
			(int32_t)tid == ns_tid)
			return t;
		if (!mem_read_u64(hs->mem, t + hs->l.nt_processed.at - NEXT_BACK, &t))
			break;
	}
	return 0;
}

/* Threads whose names are longer than the kernel's, and stand in no object, or in one that is not there yet. */
static const char *known_name(const char *comm)
{
	static const char *const names[] = {
		"VM Periodic Task Thread", "Monitor Deflation Thread", "Reference Handler", "Signal Dispatcher",
		"Notification Thread", "ArchiveWorkerThread", "Shenandoah Control Thread", "Shenandoah Uncommit Thread",
		"StringDedupProcessor", "VM JFR Buffer Thread", "Attach Listener Thread", "Concurrent Mark-Sweep GC Thread",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (is_cut_name(names[i], comm))
			return names[i];
	return NULL;
}

bool hs_vm_thread_name(struct hotspot *hs, int32_t ns_tid, const char *comm, char *buf, size_t size)
{
	uint64_t t, name;
	const char *known;

	if (strlen(comm) != COMM || ns_tid <= 0)
		return false;
	t = find_thread(hs, ns_tid);
	if (t && mem_read_u64(hs->mem, t + hs->l.nt_processed.at - NAME_BACK, &name) && object_ok(name) &&
		mem_read_cstr(hs->mem, name, buf, size) && is_cut_name(buf, comm))
		return true;
	known = known_name(comm);
	if (known)
		snprintf(buf, size, "%s", known);
	return known != NULL;
}
