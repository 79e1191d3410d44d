/* Entries and exits of methods. */
#include <string.h>

#include "tests/jvmpi/events.h"

enum { DEEP = 5001, THROWN = 400, CALLS = 1000, STACK = 20000 };

static struct {
	jmethodID at[STACK]; /* of the main thread, from begin() on */
	int depth, lost;
	int entries, exits, deep, thrower, nothing, me, me_exits, receiver, static_receiver;
} m;

static void entered(jmethodID method)
{
	const char *name = events_method(method);

	m.entries++;
	if (m.depth < STACK)
		m.at[m.depth] = method;
	m.depth++;
	if (!name)
		return;
	m.deep += !strcmp(name, "deep");
	m.thrower += !strcmp(name, "thrower");
	m.nothing += !strcmp(name, "nothing");
	m.me += !strcmp(name, "me");
}

static void left(jmethodID method)
{
	const char *name = events_method(method);

	if (!m.depth && name && !strcmp(name, "begin"))
		return; /* it was entered before */
	m.exits++;
	m.me_exits += name && !strcmp(name, "me");
	m.depth--;
	m.lost += m.depth < 0 || m.depth >= STACK || m.at[m.depth] != method;
}

static void methods_seen(JVMPI_Event *e, jint type)
{
	const char *name;

	if (!jvmpi_events.main || e->env_id != jvmpi_events.main)
		return;
	if (type == JVMPI_EVENT_METHOD_ENTRY)
		entered(e->u.method.method_id);
	else if (type == JVMPI_EVENT_METHOD_EXIT)
		left(e->u.method.method_id);
	if (type != JVMPI_EVENT_METHOD_ENTRY2)
		return;
	name = events_method(e->u.method_entry2.method_id);
	if (name && !strcmp(name, "me"))
		m.receiver += e->u.method_entry2.obj_id == jvmpi_events.watched[0] && jvmpi_events.watched[0];
	if (name && !strcmp(name, "deep"))
		m.static_receiver += !e->u.method_entry2.obj_id;
}

/* natives: calls of native methods are told, too: that of end(), behind which this is, among them. */
static void calls_check(bool natives)
{
	check("METHOD_ENTRY", m.deep == DEEP, "%d calls of deep, not %d", m.deep, DEEP);
	check("METHOD_ENTRY", m.thrower == THROWN, "%d calls of thrower", m.thrower);
	check("METHOD_ENTRY", m.nothing == (natives ? CALLS : 0) && m.me == CALLS,
	      "%d calls of a native method, %d of me", m.nothing, m.me);
	check("METHOD_EXIT", m.depth == natives && m.exits == m.entries - natives && !m.lost,
	      "%d entries, %d exits, depth %d, %d of another method", m.entries, m.exits, m.depth, m.lost);
	check("METHOD_EXIT", m.me_exits == CALLS, "%d exits of me", m.me_exits);
	/* Where the JVM does not give it, EnableEvent has said so. */
	if (events_answered(JVMPI_EVENT_METHOD_ENTRY2)) {
		check("METHOD_ENTRY2", m.receiver == CALLS, "%d of %d with the object", m.receiver, CALLS);
		check("METHOD_ENTRY2", m.static_receiver == DEEP, "%d static ones", m.static_receiver);
	}
	jvmpi->DisableEvent(JVMPI_EVENT_METHOD_ENTRY, NULL);
	jvmpi->DisableEvent(JVMPI_EVENT_METHOD_ENTRY2, NULL);
	jvmpi->DisableEvent(JVMPI_EVENT_METHOD_EXIT, NULL);
}

static void methods_end(JNIEnv *env)
{
	(void)env;
	calls_check(true);
}

static void inserted_end(JNIEnv *env)
{
	(void)env;
	calls_check(false);
}

static const jint method_types[] = {JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_ENTRY2, JVMPI_EVENT_METHOD_EXIT, 0};

const struct kind kind_methods = {.what = "methods", .types = method_types, .seen = methods_seen, .end = methods_end};
const struct kind kind_inserted = {
	.what = "inserted", .types = method_types, .seen = methods_seen, .end = inserted_end};
