#include "jvm-bridge/host/hook.h"

#include <stdlib.h>

#include "jvm-bridge/host/thread.h"

/*
 * What the agent's handler gets from malloc_f. The JVM takes over what the agent hands back and frees it as JVMTI's memory:
 * that is what malloc_f gives. An agent may hand back memory of its own, which is copied, and the rest is freed.
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

/* It has no context: the thread's hook is the one that runs. Elsewhere nobody would free it. */
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

static bool is_of(const struct hook_memory *m, const unsigned char *p)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->at[i] == p)
			return true;
	return false;
}

/* NULL: no memory. */
static unsigned char *copied(const unsigned char *p, jint size)
{
	unsigned char *copy = NULL;

	if ((*the_bridge.ti)->Allocate(the_bridge.ti, size, &copy))
		return NULL;
	return memcpy(copy, p, (size_t)size);
}

/* All but the one; it is JVMTI's then. */
static void memory_done(struct hook_memory *m, const unsigned char *but)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->at[i] != but)
			bridge_free(m->at[i]);
	free(m->at);
}

/* The handler of one agent. *data: what the one before has made of it, which is freed when this one makes something else. */
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
		if (!is_of(&memory, after))
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
	if (redefined || !t || t->inside || t->system || atomic_load(&the_bridge.dead))
		return;
	for (unsigned i = 0; i < n; i++)
		if (agent_wants(&the_bridge.agents[i], JVMPI_EVENT_CLASS_LOAD_HOOK))
			hook_send(&the_bridge.agents[i], t, data, &made, &size);
	if (!made)
		return;
	*new_data = made;
	*new_size = size;
}
