#ifndef JS_HOTSPOT_HS_THREAD_H
#define JS_HOTSPOT_HS_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot;

/* A JavaThread. tids are those in the target's own PID namespace. */
struct hs_thread {
	uint64_t addr; /* JavaThread* */
	int32_t ns_tid;
	uint64_t stack_base, stack_size; /* the stack is [base - size, base) */
	uint64_t os; /* OSThread* */
	uint64_t checked_ns; /* read, or seen to be the same */
};

struct hs_anchor {
	uint64_t sp, pc, fp; /* pc and fp may be 0 */
};

/*
 * NULL: not a Java thread. Reads the list again if the tid is unknown (at most once in 10 ms) or its entry is stale.
 * Borrowed until the next call.
 */
const struct hs_thread *hs_thread_find(struct hotspot *hs, int32_t ns_tid);
int hs_thread_refresh(struct hotspot *hs);
size_t hs_thread_count(const struct hotspot *hs);
const struct hs_thread *hs_thread_at(const struct hotspot *hs, size_t i);

/* The last Java frame, if one is set (sp != 0). */
bool hs_thread_anchor(struct hotspot *hs, const struct hs_thread *t, struct hs_anchor *ret);

/* The anchor saved in the JavaCallWrapper at `wrapper`; false: unreadable. sp == 0: there is no older Java frame. */
bool hs_wrapper_anchor(struct hotspot *hs, uint64_t wrapper, struct hs_anchor *ret);

/* The ContinuationEntry* of the mounted continuation; 0: none or unknown. */
uint64_t hs_thread_cont_entry(struct hotspot *hs, const struct hs_thread *t);
uint64_t hs_cont_entry_parent(struct hotspot *hs, uint64_t entry); /* 0: none or unknown */

bool hs_thread_in_deopt(struct hotspot *hs, const struct hs_thread *t); /* is _vframe_array_head set? */

/* The full name of the java.lang.Thread, as UTF-8. false: unknown (a note for -v says why). */
bool hs_thread_name(struct hotspot *hs, const struct hs_thread *t, char *buf, size_t size);

/*
 * The full name of one of the JVM's own threads, of which the kernel has the first 15 characters (`comm`). false: the
 * name is not longer, or the rest is unknown. hs may be NULL while the JVM is starting.
 */
bool hs_vm_thread_name(struct hotspot *hs, int32_t ns_tid, const char *comm, char *buf, size_t size);

/*
 * Is this name, of which the kernel has the first 15 characters, one that HotSpot gives to a thread of its own that never
 * becomes a Java thread? Only those that run in most JVMs are known.
 */
bool hs_is_vm_thread(const char *comm);

/* What a thread that is not running waits for, by java.lang.Thread.threadStatus. */
enum hs_wait {
	HS_WAIT_UNKNOWN, /* unreadable, or a wait in native code or in the VM */
	HS_WAIT_SLEEP,
	HS_WAIT_OBJECT, /* Object.wait() */
	HS_WAIT_PARK, /* LockSupport.park(): locks and queues of java.util.concurrent */
	HS_WAIT_MONITOR, /* to enter a synchronized block or method */
};
enum hs_wait hs_thread_wait(struct hotspot *hs, const struct hs_thread *t);

#endif
