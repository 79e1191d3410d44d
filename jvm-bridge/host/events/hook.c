#include "jvm-bridge/host/events/hook.h"

#include <stdlib.h>

#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/thread.h"

/*
 * Memory that the agent's handler got from malloc_f. The JVM takes over the class file that the agent returns and
 * frees it as JVMTI memory, so that is what malloc_f allocates. If an agent returns other memory, it is copied. The
 * rest is freed.
 */
struct hook_memory {
	unsigned char **at;
	size_t n, cap;
};

static bool memory_note(struct hook_memory *m, unsigned char *p)
{
	unsigned char **more;

	if (m->n < m->cap) {
		m->at[m->n++] = p;
		return true;
	}
	more = realloc(m->at, (m->cap + 16) * sizeof(*more));
	if (!more)
		return false;
	m->at = more;
	m->cap += 16;
	m->at[m->n++] = p;
	return true;
}

/* malloc_f has no context: it serves the hook running on this thread. Elsewhere nobody would free the memory. */
static void *hook_malloc(unsigned size)
{
	struct thread *t = thread_current();
	unsigned char *p = NULL;

	if (!t || !t->hook || (*the_bridge.ti)->Allocate(the_bridge.ti, size, &p))
		return NULL;
	if (!memory_note(t->hook, p)) {
		bridge_free(p);
		return NULL;
	}
	return p;
}

static bool hook_is_in(const struct hook_memory *m, const unsigned char *p)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->at[i] == p)
			return true;
	return false;
}

/* NULL: out of memory. */
static unsigned char *copied(const unsigned char *p, jint size)
{
	unsigned char *copy = NULL;

	if ((*the_bridge.ti)->Allocate(the_bridge.ti, size, &copy))
		return NULL;
	return memcpy(copy, p, (size_t)size);
}

/* Frees all but `but`, which now belongs to JVMTI. */
static void memory_done(struct hook_memory *m, const unsigned char *but)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->at[i] != but)
			bridge_free(m->at[i]);
	free(m->at);
}

/* Calls one agent's handler. *data: the previous agent's class file, or NULL; freed if this one returns another. */
static void hook_send(struct agent *a, struct thread *t, const unsigned char *given, unsigned char **data, jint *size)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_CLASS_LOAD_HOOK};
	unsigned char *before = *data ? *data : (unsigned char *)(uintptr_t)given, *after;
	struct hook_memory memory = {0};

	e.u.class_load_hook.class_data = e.u.class_load_hook.new_class_data = before;
	e.u.class_load_hook.class_data_len = e.u.class_load_hook.new_class_data_len = *size;
	e.u.class_load_hook.malloc_f = hook_malloc;
	t->hook = &memory;
	event_send(a, t, &e, GC_MAY);
	t->hook = NULL;
	after = e.u.class_load_hook.new_class_data;
	if (after && after != before && e.u.class_load_hook.new_class_data_len > 0) {
		if (!hook_is_in(&memory, after))
			after = copied(after, e.u.class_load_hook.new_class_data_len);
		if (after) {
			bridge_free(*data);
			*data = after;
			*size = e.u.class_load_hook.new_class_data_len;
		}
	}
	memory_done(&memory, *data);
}

void JNICALL on_class_file(jvmtiEnv *ti, JNIEnv *env, jclass redefined, jobject loader, const char *name,
			   jobject domain, jint size, const unsigned char *data, jint *new_size,
			   unsigned char **new_data)
{
	struct thread *t = env ? thread_current() : NULL;
	unsigned n = atomic_load(&the_bridge.n_agents);
	unsigned char *made = NULL;

	(void)ti, (void)loader, (void)name, (void)domain;
	if (redefined || !thread_may_report(t))
		return;
	for (unsigned i = 0; i < n; i++)
		if (agent_wants(&the_bridge.agents[i], JVMPI_EVENT_CLASS_LOAD_HOOK))
			hook_send(&the_bridge.agents[i], t, data, &made, &size);
	if (!made)
		return;
	*new_data = made;
	*new_size = size;
}
