/* Arenas, and what never comes. */
#include "tests/jvmpi/events.h"

static int arenas, inits;

static void arena_seen(JVMPI_Event *e, jint type)
{
	inits += type == JVMPI_EVENT_JVM_INIT_DONE;
	arenas += type == JVMPI_EVENT_ARENA_NEW;
	if (type == JVMPI_EVENT_ARENA_NEW)
		check("ARENA_NEW", e->u.new_arena.arena_id == 1 && e->u.new_arena.arena_name && !inits, "arena %d",
		      e->u.new_arena.arena_id);
	check("ARENA_DELETE", type != JVMPI_EVENT_ARENA_DELETE, "it came");
	check("OBJECT_MOVE", type != JVMPI_EVENT_OBJECT_MOVE, "it came");
}

static void arena_end(JNIEnv *env)
{
	(void)env;
	check("ARENA_NEW", arenas == 1 && inits == 1, "%d arenas", arenas);
	check("ARENA_DELETE", events_answered(JVMPI_EVENT_ARENA_DELETE), "it cannot be enabled");
	check("OBJECT_MOVE", events_answered(JVMPI_EVENT_OBJECT_MOVE), "it cannot be enabled");
}

static const jint arena_types[] = {JVMPI_EVENT_ARENA_NEW, JVMPI_EVENT_ARENA_DELETE, JVMPI_EVENT_OBJECT_MOVE,
				   JVMPI_EVENT_JVM_INIT_DONE, 0};

const struct kind kind_arena = {.what = "arena", .types = arena_types, .seen = arena_seen, .end = arena_end};
