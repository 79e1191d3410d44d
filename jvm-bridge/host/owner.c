#include "jvm-bridge/host/owner.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "jvm-bridge/host/base/address.h"
#include "jvm-bridge/host/support.h"
#include "jvm-bridge/host/thread.h"

enum {
	FIRST_UNSAFE = 23,
	OWNER_ANONYMOUS = 1, /* a thread that entered before anybody waited: its lock stack has the object */
	OWNER_LAST_MARK =
		2, /* ObjectMonitor::DEFLATER_MARKER; owners' ids are greater (runtime/objectMonitor.hpp, 24 to 28) */
	LOCK_STACK_MAX = 8, /* LockStack::CAPACITY */
};

static struct {
	_Atomic bool tried, ready;
	_Atomic uint64_t env; /* 0: not known yet; otherwise the offset of JNIEnv in JavaThread */
	uint64_t pending, id, stack; /* offsets in JavaThread */
	uint64_t owner; /* in ObjectMonitor */
	uint64_t top, base; /* in LockStack */
} at;

bool owner_is_asked(void)
{
	return jvm_release() < FIRST_UNSAFE;
}

bool owners_are_known(void)
{
	const struct jvm_field fields[] = {
		{"JavaThread", "_current_pending_monitor", &at.pending},
		{"JavaThread", "_monitor_owner_id", &at.id},
		{"JavaThread", "_lock_stack", &at.stack},
		{"ObjectMonitor", "_owner", &at.owner},
		{"LockStack", "_top", &at.top},
		{"LockStack", "_base[0]", &at.base},
	};

	if (!atomic_load(&at.tried) && jvm_fields_find(fields, sizeof(fields) / sizeof(*fields)))
		atomic_store(&at.ready, true);
	atomic_store(&at.tried, true);
	return atomic_load(&at.ready);
}

void owners_init(uint64_t env_distance)
{
	atomic_store(&at.env, env_distance);
}

/* The kernel does the reading: a thread that ends frees its JavaThread. 0: not mapped. */
static uint64_t word(uint64_t address)
{
	uint64_t v = 0;
	struct iovec to = {&v, sizeof(v)}, from = {(void *)(uintptr_t)address, sizeof(v)};

	return syscall(SYS_process_vm_readv, getpid(), &to, 1, &from, 1, 0) == sizeof(v) ? v : 0;
}

struct search {
	uint64_t id; /* the owner's; OWNER_ANONYMOUS: by `object` */
	uint64_t object; /* its address */
	JNIEnv *found;
};

/* LockStack::_top is an offset from the JavaThread (runtime/lockStack.hpp). */
static bool has_locked(uint64_t thread, uint64_t object)
{
	uint64_t base = at.stack + at.base, top = (uint32_t)word(thread + at.stack + at.top);

	for (uint64_t p = base; p + 8 <= top && p < base + 8 * LOCK_STACK_MAX; p += 8)
		if (word(thread + p) == object)
			return true;
	return false;
}

static void search_one(struct thread *t, void *arg)
{
	struct search *s = arg;
	uint64_t thread = (uint64_t)(uintptr_t)t->env - at.env;

	if (s->found || !atomic_load(&t->ref))
		return;
	if (s->id == OWNER_ANONYMOUS ? has_locked(thread, s->object) : word(thread + at.id) == s->id)
		s->found = t->env;
}

JNIEnv *owner_of_pending(JNIEnv *env, jobject object)
{
	uint64_t monitor = atomic_load(&at.ready) && at.env ? word((uint64_t)(uintptr_t)env - at.env + at.pending) : 0;
	struct search s = {.id = monitor ? word(monitor + at.owner) : 0, .object = word((uint64_t)(uintptr_t)object)};

	if (s.id == OWNER_ANONYMOUS ? s.object != 0 : s.id > OWNER_LAST_MARK)
		thread_each(search_one, &s);
	return s.found;
}
