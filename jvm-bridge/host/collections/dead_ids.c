#include "jvm-bridge/host/collections/dead_ids.h"
#include "jvm-bridge/host/classes/class.h"
#include "jvm-bridge/host/classes/trace.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/gate.h"
#include "jvm-bridge/host/thread.h"

enum { LOOK_SHARE = 50 }; /* looking for dead objects takes at most 1/LOOK_SHARE of the time */

static struct {
	struct object_id *list;
	bool look; /* there was a collection since the last look */
	uint64_t look_next; /* ns; not before */
} dead;

void dead_ids_add(struct object_id *list)
{
	struct object_id *next;

	for (; list; list = next) {
		next = list->next;
		list->next = dead.list;
		dead.list = list;
	}
}

void dead_ids_find(JNIEnv *env, bool collected)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), end;

	dead.look |= collected;
	if (!dead.look || begin < dead.look_next)
		return;
	dead.look = false;
	dead_ids_add(ids_dead(env));
	end = clock_ns(CLOCK_MONOTONIC);
	dead.look_next = end + (end - begin) * LOOK_SHARE;
}

bool dead_ids_find_is_due(void)
{
	return dead.look;
}

static bool wants_free(const struct agent *a, const struct object_id *id)
{
	return agent_wants(a, JVMPI_EVENT_OBJECT_FREE) && !(id->free_reported & 1u << a->index);
}

bool dead_ids_have_frees(const struct agent *a)
{
	for (const struct object_id *id = dead.list; id; id = id->next)
		if (wants_free(a, id))
			return true;
	return false;
}

void dead_ids_send_frees(struct agent *a, struct thread *t)
{
	for (struct object_id *id = dead.list; id && !atomic_load(&the_bridge.ending); id = id->next) {
		JVMPI_Event e = {.event_type = JVMPI_EVENT_OBJECT_FREE};

		if (!wants_free(a, id))
			continue;
		e.u.obj_free.obj_id = (jobjectID)id;
		if (!event_send(a, t, &e, GC_FREES))
			return;
		id->free_reported |= 1u << a->index;
	}
}

static bool wants_unload(const struct agent *a, const struct object_id *id)
{
	return id->kind == ID_CLASS && agent_wants(a, JVMPI_EVENT_CLASS_UNLOAD) &&
	       definition_is_known(&id->definition, a) && !(id->unload_reported & 1u << a->index);
}

bool dead_ids_send_unloads(struct thread *t)
{
	unsigned n = atomic_load(&the_bridge.n_agents);

	for (struct object_id *id = dead.list; id; id = id->next)
		for (unsigned i = 0; i < n; i++) {
			if (!wants_unload(&the_bridge.agents[i], id))
				continue;
			if (!class_report_unload(&the_bridge.agents[i], t, id))
				return false;
			id->unload_reported |= 1u << i;
		}
	return true;
}

static bool is_reported(const struct object_id *id)
{
	unsigned n = atomic_load(&the_bridge.n_agents);

	for (unsigned i = 0; i < n; i++)
		if (wants_free(&the_bridge.agents[i], id) || wants_unload(&the_bridge.agents[i], id))
			return false;
	return true;
}

/* Unloaded classes invalidate the cached line numbers of their methods. */
bool dead_ids_release(struct thread *t)
{
	struct object_id *list = dead.list, *next;
	bool classes = false, all = true;

	dead.list = NULL;
	for (; list; list = next) {
		next = list->next;
		if (is_reported(list) && id_empty(t->env, list)) {
			classes |= list->kind == ID_CLASS;
			if (gate_free(t, id_free, list))
				continue;
			all = false;
		}
		list->next = dead.list;
		dead.list = list;
	}
	if (classes)
		trace_forget();
	return all;
}
