/*
 * Counts events of one kind and compares with what Events.java did. Options: "WHAT FILE", the file being that of the report.
 */
#include "tests/jvmpi/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct events jvmpi_events = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct kind *const kinds[] = {
	&kind_methods, &kind_steps, &kind_monitors, &kind_deadlock, &kind_alloc, &kind_eliminated, &kind_attach,
	&kind_refs,    &kind_hook,  &kind_heap,     &kind_arena,    &kind_storm, &kind_unload,     &kind_inserted,
};
static const struct kind *kind;

enum { CLASSES_MAX = 20000, ANSWERS = 64 };
static struct class_info *infos;
static unsigned n_infos;
static jint answers[ANSWERS];

JNIEXPORT void JNICALL Java_Events_begin(JNIEnv *env, jclass klass);
JNIEXPORT void JNICALL Java_Events_end(JNIEnv *env, jclass klass);
JNIEXPORT void JNICALL Java_Events_nothing(JNIEnv *env, jclass klass);
JNIEXPORT void JNICALL Java_Events_dump(JNIEnv *env, jclass klass);
JNIEXPORT void JNICALL Java_Events_watch(JNIEnv *env, jclass klass, jobject object);

const char *events_method(jmethodID m)
{
	struct entry *e;
	const char *name;

	pthread_mutex_lock(&jvmpi_events.lock);
	e = table_find(&jvmpi_events.methods, m);
	name = e ? e->name : NULL;
	pthread_mutex_unlock(&jvmpi_events.lock);
	return name;
}

bool events_answered(jint type)
{
	return answers[type % ANSWERS] == JVMPI_SUCCESS;
}

const struct class_info *class_info_of(jobjectID id)
{
	struct entry *e;
	const struct class_info *found;

	pthread_mutex_lock(&jvmpi_events.lock);
	e = table_find(&jvmpi_events.classes, id);
	found = e ? &infos[e->value - 1] : NULL;
	pthread_mutex_unlock(&jvmpi_events.lock);
	return found;
}

static char *types_of(const JVMPI_Field *f, jint n)
{
	char *types = calloc((size_t)n + 1, 1);

	for (jint i = 0; types && i < n; i++)
		types[i] = f[i].field_signature[0];
	return types;
}

static void class_seen(const JVMPI_Event *e)
{
	struct class_info *c;

	pthread_mutex_lock(&jvmpi_events.lock);
	for (jint i = 0; i < e->u.class_load.num_methods && !strcmp(e->u.class_load.class_name, "Events"); i++)
		table_add(&jvmpi_events.methods, e->u.class_load.methods[i].method_id,
			  e->u.class_load.methods[i].method_name);
	if (n_infos < CLASSES_MAX && !table_find(&jvmpi_events.classes, e->u.class_load.class_id)) {
		c = &infos[n_infos++];
		c->id = e->u.class_load.class_id;
		snprintf(c->name, sizeof(c->name), "%s", e->u.class_load.class_name);
		c->interfaces = e->u.class_load.num_interfaces;
		c->n_statics = e->u.class_load.num_static_fields;
		c->n_instances = e->u.class_load.num_instance_fields;
		c->statics = types_of(e->u.class_load.statics, c->n_statics);
		c->instances = types_of(e->u.class_load.instances, c->n_instances);
		table_add(&jvmpi_events.classes, c->id, NULL)->value = (int)n_infos;
	}
	pthread_mutex_unlock(&jvmpi_events.lock);
}

static void notify(JVMPI_Event *e)
{
	jint type = e->event_type & ~JVMPI_REQUESTED_EVENT;

	if (type == JVMPI_EVENT_CLASS_LOAD)
		class_seen(e);
	if (kind->seen)
		kind->seen(e, type);
	if (type == JVMPI_EVENT_JVM_SHUT_DOWN)
		check_report();
}

JNIEXPORT void JNICALL Java_Events_begin(JNIEnv *env, jclass klass)
{
	(void)klass;
	if (kind->begin)
		kind->begin(env);
	jvmpi_events.main = env;
}

JNIEXPORT void JNICALL Java_Events_end(JNIEnv *env, jclass klass)
{
	(void)klass;
	jvmpi_events.main = NULL;
	if (kind->end)
		kind->end(env);
}

JNIEXPORT void JNICALL Java_Events_nothing(JNIEnv *env, jclass klass)
{
	(void)env, (void)klass;
}

JNIEXPORT void JNICALL Java_Events_dump(JNIEnv *env, jclass klass)
{
	(void)klass;
	kind->dump(env);
}

JNIEXPORT void JNICALL Java_Events_watch(JNIEnv *env, jclass klass, jobject object)
{
	(void)env, (void)klass;
	jvmpi_events.watched[jvmpi_events.n_watched++ % WATCHED] = jvmpi->jobject2jobjectID(object);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	char path[4000];

	(void)reserved;
	infos = calloc(CLASSES_MAX, sizeof(*infos));
	if (!infos || !options || sscanf(options, "%15s %3999s", jvmpi_events.what, path) != 2 ||
	    !interface_get(vm, JVMPI_VERSION_1_2))
		return JNI_ERR;
	check_open(path);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i]->what, jvmpi_events.what))
			kind = kinds[i];
	if (!kind)
		return JNI_ERR;
	if (kind->load)
		kind->load();
	jvmpi->NotifyEvent = notify;
	for (const jint *type = kind->types; *type; type++)
		answers[*type % ANSWERS] = jvmpi->EnableEvent(*type, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
	return JNI_OK;
}
