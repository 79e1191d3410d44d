/*
 * The guarantee checker: enables everything that docs/jvmpi.md promises and checks each event against what came
 * before it, and the functions (checker_functions.c) from Java code that calls them.
 * Options: the file for the report.
 */
#include "tests/jvmpi/checker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct checker checker = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const jint delivered[] = {JVMPI_EVENT_CLASS_LOAD,
				 JVMPI_EVENT_CLASS_UNLOAD,
				 JVMPI_EVENT_COMPILED_METHOD_LOAD,
				 JVMPI_EVENT_COMPILED_METHOD_UNLOAD,
				 JVMPI_EVENT_THREAD_START,
				 JVMPI_EVENT_THREAD_END,
				 JVMPI_EVENT_GC_START,
				 JVMPI_EVENT_GC_FINISH,
				 JVMPI_EVENT_OBJECT_FREE,
				 JVMPI_EVENT_DATA_DUMP_REQUEST,
				 JVMPI_EVENT_DATA_RESET_REQUEST,
				 JVMPI_EVENT_JVM_INIT_DONE,
				 JVMPI_EVENT_JVM_SHUT_DOWN,
				 JVMPI_EVENT_JS_CODE_LOAD,
				 JVMPI_EVENT_JS_CODE_UNLOAD,
				 JVMPI_EVENT_JS_DYNAMIC_CODE,
				 JVMPI_EVENT_JS_GC_PAUSE};

static bool is_delivered(jint type)
{
	for (size_t i = 0; i < sizeof(delivered) / sizeof(*delivered); i++)
		if (delivered[i] == type)
			return true;
	return false;
}

/* What events.c counts: enabled and disabled again. NOT_AVAILABLE is an answer, too, where a JVM does not have it. */
static const jint elsewhere[] = {
	JVMPI_EVENT_METHOD_ENTRY,
	JVMPI_EVENT_METHOD_ENTRY2,
	JVMPI_EVENT_METHOD_EXIT,
	JVMPI_EVENT_OBJECT_ALLOC,
	JVMPI_EVENT_OBJECT_MOVE,
	JVMPI_EVENT_INSTRUCTION_START,
	JVMPI_EVENT_CLASS_LOAD_HOOK,
	JVMPI_EVENT_JNI_GLOBALREF_ALLOC,
	JVMPI_EVENT_JNI_GLOBALREF_FREE,
	JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC,
	JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE,
	JVMPI_EVENT_ARENA_NEW,
	JVMPI_EVENT_ARENA_DELETE,
	JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER,
	JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED,
	JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT,
	JVMPI_EVENT_MONITOR_CONTENDED_ENTER,
	JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
	JVMPI_EVENT_MONITOR_CONTENDED_EXIT,
	JVMPI_EVENT_MONITOR_WAIT,
	JVMPI_EVENT_MONITOR_WAITED,
};

static bool is_counted_elsewhere(jint type)
{
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++)
		if (elsewhere[i] == type)
			return true;
	return false;
}

static bool may_be_missing(jint type)
{
	return type == JVMPI_EVENT_METHOD_ENTRY2 || type == JVMPI_EVENT_OBJECT_ALLOC;
}

static void class_seen(const JVMPI_Event *e)
{
	const char *name = e->u.class_load.class_name;
	struct entry *known = table_find(&checker.classes, e->u.class_load.class_id);

	check("CLASS_LOAD", name && *name && e->u.class_load.class_id, "a class without name or id");
	if (!name)
		return;
	check("CLASS_LOAD", !known || checker.asked, "%s is told twice", name);
	check("CLASS_LOAD", !strchr(name[0] == '[' ? "" : name, ';'), "the name %s", name);
	/* The JVM makes them: there is no source. */
	if (strstr(name, "$$Lambda")) {
		checker.lambdas++;
		check("CLASS_LOAD", !e->u.class_load.source_name, "%s is of %s", name, e->u.class_load.source_name);
	}
	for (jint i = 0; i < e->u.class_load.num_methods; i++) {
		const JVMPI_Method *m = &e->u.class_load.methods[i];

		check("CLASS_LOAD", m->method_name && m->method_signature && m->method_signature[0] == '(',
		      "a method of %s", name);
		check("CLASS_LOAD", m->start_lineno <= m->end_lineno && (m->start_lineno > 0 || m->start_lineno == -1),
		      "%s.%s: lines %d to %d", name, m->method_name, m->start_lineno, m->end_lineno);
		if (m->method_id)
			table_add(&checker.methods, m->method_id, m->method_name);
		if (m->method_id && !strcmp(name, "Throwaway") && !table_find(&checker.live, m->method_id))
			table_add(&checker.live, m->method_id, NULL);
	}
	for (jint i = 0; i < e->u.class_load.num_instance_fields; i++)
		check("CLASS_LOAD",
		      e->u.class_load.instances[i].field_name && e->u.class_load.instances[i].field_signature,
		      "a field of %s", name);
	table_add(&checker.classes, e->u.class_load.class_id, name);
}

/* Against what reflection says. */
static void class_compare(const JVMPI_Event *e)
{
	const JVMPI_Method *two = NULL, *many = NULL;

	check("CLASS_LOAD", !strcmp(e->u.class_load.class_name, "Jvmpi$Sample"), "%s", e->u.class_load.class_name);
	check("CLASS_LOAD", e->u.class_load.source_name && !strcmp(e->u.class_load.source_name, "Jvmpi.java"),
	      "source");
	check("CLASS_LOAD", e->u.class_load.num_interfaces == checker.expected.interfaces, "%d interfaces",
	      e->u.class_load.num_interfaces);
	check("CLASS_LOAD", e->u.class_load.num_methods == checker.expected.methods, "%d methods, not %d",
	      e->u.class_load.num_methods, checker.expected.methods);
	check("CLASS_LOAD",
	      e->u.class_load.num_static_fields == checker.expected.statics &&
		      e->u.class_load.num_instance_fields == checker.expected.instances,
	      "%d and %d fields", e->u.class_load.num_static_fields, e->u.class_load.num_instance_fields);
	check("CLASS_LOAD",
	      !strcmp(e->u.class_load.instances[0].field_name, "i3") &&
		      !strcmp(e->u.class_load.instances[0].field_signature, "Ljava/lang/Object;"),
	      "the first field is %s", e->u.class_load.instances[0].field_name);
	for (jint i = 0; i < e->u.class_load.num_methods; i++)
		if (!strcmp(e->u.class_load.methods[i].method_name, "two"))
			two = &e->u.class_load.methods[i];
		else if (!strcmp(e->u.class_load.methods[i].method_name, "many"))
			many = &e->u.class_load.methods[i];
	check("CLASS_LOAD",
	      two && !strcmp(two->method_signature, "(I)I") && two->start_lineno == two->end_lineno &&
		      two->start_lineno > checker.expected.line,
	      "method two");
	/* Three lines, the first four below. */
	check("CLASS_LOAD",
	      many && two && many->start_lineno == two->start_lineno + 4 && many->end_lineno == two->start_lineno + 6,
	      "method many: %d to %d", many ? many->start_lineno : 0, many ? many->end_lineno : 0);
	checker.expected.on = false;
}

/* What is known of a class that is no more. */
static void class_saved_compare(const JVMPI_Event *e)
{
	check("CLASS_UNLOAD",
	      e->u.class_load.class_name && !e->u.class_load.num_instance_fields && !e->u.class_load.num_static_fields,
	      "an unloaded class without name, or with fields");
	for (jint i = 0; i < e->u.class_load.num_methods; i++)
		check("CLASS_UNLOAD", e->u.class_load.methods[i].method_name && !e->u.class_load.methods[i].method_id,
		      "an unloaded method without name, or with an id");
	checker.unloaded = NULL;
}

static void thread_seen(const JVMPI_Event *e)
{
	JNIEnv *about = e->u.thread_start.thread_env_id;

	check("THREAD_START", about && e->u.thread_start.thread_name && e->u.thread_start.group_name,
	      "a thread without env, name or group");
	check("THREAD_START", !table_find(&checker.threads, about) || checker.asked, "%s is told twice",
	      e->u.thread_start.thread_name);
	check("THREAD_START", strcmp(e->u.thread_start.thread_name, "virtual"), "a virtual thread");
	check("THREAD_START", e->u.thread_start.thread_id != NULL, "%s has no thread_id",
	      e->u.thread_start.thread_name);
	check("THREAD_START",
	      (e->u.thread_start.parent_name == NULL) == !strcmp(e->u.thread_start.group_name, "system"),
	      "%s: group %s, parent %s", e->u.thread_start.thread_name, e->u.thread_start.group_name,
	      e->u.thread_start.parent_name ? e->u.thread_start.parent_name : "none");
	check("CreateSystemThread",
	      strncmp(e->u.thread_start.thread_name, "test ", 5) || !strcmp(e->u.thread_start.group_name, "system"),
	      "%s is in the group %s", e->u.thread_start.thread_name, e->u.thread_start.group_name);
	if (checker.asked)
		checker.told = about;
	/* A JNIEnv is used again; main's storage is looked at by checker_functions.c. */
	if (!checker.asked && strcmp(e->u.thread_start.thread_name, "main")) {
		check("GetThreadLocalStorage", !jvmpi->GetThreadLocalStorage(about), "%s begins with somebody's",
		      e->u.thread_start.thread_name);
		jvmpi->SetThreadLocalStorage(about, about);
	}
	table_add(&checker.threads, about, e->u.thread_start.thread_name);
	table_add(&checker.objects, e->u.thread_start.thread_id, e->u.thread_start.thread_name);
}

static void thread_ended(const JVMPI_Event *e)
{
	struct entry *known = table_find(&checker.threads, e->env_id);
	const char *name = e->u.thread_start.thread_name;

	check("THREAD_END", known != NULL, "without THREAD_START");
	check("THREAD_END", name && e->u.thread_start.group_name, "without names");
	if (!known || !name)
		return;
	/* Others are renamed while they run. */
	if (!strncmp(known->name, "test ", 5)) {
		check("THREAD_END", !strcmp(known->name, name), "%s is named %s", known->name, name);
		checker.own_ended++;
	}
	if (strcmp(known->name, "main"))
		check("SetThreadLocalStorage", jvmpi->GetThreadLocalStorage(e->env_id) == e->env_id, "%s has lost it",
		      known->name);
	table_drop(&checker.threads, e->env_id);
}

/* The heap has 256 MB. */
enum { HEAP_MAX = 260 << 20 };

static void gc_seen(const JVMPI_Event *e)
{
	struct entry *t = table_find(&checker.threads, e->env_id);

	switch (e->event_type) {
	case JVMPI_EVENT_GC_START:
		check("GC_START", !checker.in_gc, "two in a row");
		check("GC_START", t && t->name && (!strcmp(t->name, "jsampler bridge") || e->env_id == checker.runner),
		      "on the thread %s", t && t->name ? t->name : "?");
		checker.own_starts += e->env_id == checker.runner;
		checker.in_gc = true;
		break;
	case JVMPI_EVENT_GC_FINISH:
		check("GC_FINISH", checker.in_gc, "without GC_START");
		check("GC_FINISH",
		      e->u.gc_info.total_object_space >= e->u.gc_info.used_object_space &&
			      e->u.gc_info.used_object_space > 0 && e->u.gc_info.total_object_space <= HEAP_MAX &&
			      !e->u.gc_info.used_objects,
		      "used %lld of %lld, objects %lld", (long long)e->u.gc_info.used_object_space,
		      (long long)e->u.gc_info.total_object_space, (long long)e->u.gc_info.used_objects);
		checker.in_gc = checker.standing = false;
		checker.collections++;
		break;
	case JVMPI_EVENT_OBJECT_FREE:
		check("OBJECT_FREE", checker.in_gc || checker.bare, "outside GC_START and GC_FINISH");
		check("OBJECT_FREE",
		      table_find(&checker.objects, e->u.obj_free.obj_id) ||
			      table_find(&checker.classes, e->u.obj_free.obj_id),
		      "of an id that nobody had");
		checker.freed++;
		checker.standing = !checker.bare;
		table_drop(&checker.objects, e->u.obj_free.obj_id);
		table_drop(&checker.classes, e->u.obj_free.obj_id);
		break;
	}
}

/* JVM_OnLoad enabled it, so the class of every method was told before. */
static void code_seen(const JVMPI_Event *e)
{
	char *code = e->u.compiled_method_load.code_addr;
	jint last = 0;

	check("COMPILED_METHOD_LOAD", table_find(&checker.methods, e->u.compiled_method_load.method_id) != NULL,
	      "of a method that no CLASS_LOAD named");
	check("COMPILED_METHOD_LOAD", code && e->u.compiled_method_load.code_size > 0, "no code");
	for (jint i = 0; i < e->u.compiled_method_load.lineno_table_size; i++) {
		const JVMPI_Lineno *l = &e->u.compiled_method_load.lineno_table[i];

		check("COMPILED_METHOD_LOAD",
		      l->offset >= last && l->offset <= e->u.compiled_method_load.code_size &&
			      (l->lineno > 0 || l->lineno == -1),
		      "line %d at %d", l->lineno, l->offset);
		last = l->offset;
	}
	checker.versions += table_find(&checker.code, e->u.compiled_method_load.method_id) != NULL;
	table_add(&checker.code, e->u.compiled_method_load.method_id, NULL);
}

static void code_gone(const JVMPI_Event *e)
{
	jmethodID m = e->u.compiled_method_unload.method_id;
	struct entry *live = table_find(&checker.live, m);

	check("COMPILED_METHOD_UNLOAD", table_find(&checker.code, m) != NULL, "without its load");
	check("COMPILED_METHOD_UNLOAD", !live || !live->value, "Throwaway has %d versions yet", live ? live->value : 0);
	table_drop(&checker.code, m);
}

static void js_code_seen(const JVMPI_Event *e)
{
	jint end = 0;

	for (jint i = 0; i < e->u.js_code.num_scopes; i++) {
		check("JS_CODE_LOAD", e->u.js_code.scopes[i].parent < i && e->u.js_code.scopes[i].method_id,
		      "scope %d has the parent %d", i, e->u.js_code.scopes[i].parent);
		checker.inlined += e->u.js_code.scopes[i].parent >= 0;
	}
	for (jint i = 0; i < e->u.js_code.num_ranges; i++) {
		const JVMPI_JS_Range *r = &e->u.js_code.ranges[i];

		check("JS_CODE_LOAD",
		      r->end > end && r->end <= e->u.js_code.code_size && r->scope >= 0 &&
			      r->scope < e->u.js_code.num_scopes,
		      "range %d ends at %d", i, r->end);
		end = r->end;
	}
	if (table_find(&checker.live, e->u.js_code.method_id))
		table_find(&checker.live, e->u.js_code.method_id)->value++;
	table_add(&checker.js_code, e->u.js_code.code_addr, NULL);
}

static void js_code_gone(const JVMPI_Event *e)
{
	struct entry *live = table_find(&checker.live, e->u.js_code.method_id);

	check("JS_CODE_UNLOAD", table_find(&checker.js_code, e->u.js_code.code_addr) != NULL, "without its load");
	if (live && live->value > 0)
		live->value--;
}

static void js_pause_seen(const JVMPI_Event *e)
{
	const jlong hour = 3600000000000;
	struct timespec now;
	jlong ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = now.tv_sec * 1000000000ll + now.tv_nsec;
	check("JS_GC_PAUSE",
	      e->u.js_gc_pause.begin > ns - hour && e->u.js_gc_pause.end >= e->u.js_gc_pause.begin &&
		      e->u.js_gc_pause.end <= ns,
	      "%lld to %lld at %lld", (long long)e->u.js_gc_pause.begin, (long long)e->u.js_gc_pause.end,
	      (long long)ns);
}

/* What holds for every event. `standing`: everything stood still when the agent was called. */
static void any_seen(const JVMPI_Event *e, jint type, bool standing)
{
	struct entry *t = table_find(&checker.threads, e->env_id);

	check("delivery thread", e->env_id == env_here(), "event %d has another thread's env_id", type);
	checker.in_window += standing && checker.standing && type != JVMPI_EVENT_GC_FINISH &&
			     type != JVMPI_EVENT_OBJECT_FREE && e->env_id != checker.gc_env;
	if (type != JVMPI_EVENT_THREAD_START)
		check("threads are told first", t != NULL, "event %d on a thread without THREAD_START", type);
	check("nothing after JVM_SHUT_DOWN", !checker.ended, "event %d", type);
	if (type == JVMPI_EVENT_GC_START)
		checker.gc_env = e->env_id;
}

static void seen(const JVMPI_Event *e, bool standing)
{
	jint type = e->event_type & ~JVMPI_REQUESTED_EVENT;

	any_seen(e, type, standing);
	if (type < 0x5000 && is_delivered(type))
		checker.count[type & 0xff]++;
	checker.asked = e->event_type & JVMPI_REQUESTED_EVENT;
	switch (type) {
	case JVMPI_EVENT_CLASS_LOAD:
		class_seen(e);
		if (checker.asked && checker.unloaded && e->u.class_load.class_id == checker.unloaded)
			class_saved_compare(e);
		else if (checker.asked && checker.expected.on)
			class_compare(e);
		if (checker.asked)
			checker.last_class_methods = e->u.class_load.num_methods;
		break;
	case JVMPI_EVENT_CLASS_UNLOAD:
		check("CLASS_UNLOAD", table_find(&checker.classes, e->u.class_unload.class_id) != NULL,
		      "of a class without CLASS_LOAD");
		check("CLASS_UNLOAD", !checker.standing, "in the window");
		checker.unloading = e->u.class_unload.class_id;
		break;
	case JVMPI_EVENT_THREAD_START: thread_seen(e); break;
	case JVMPI_EVENT_THREAD_END: thread_ended(e); break;
	case JVMPI_EVENT_COMPILED_METHOD_LOAD: code_seen(e); break;
	case JVMPI_EVENT_COMPILED_METHOD_UNLOAD: code_gone(e); break;
	case JVMPI_EVENT_JS_CODE_LOAD: js_code_seen(e); break;
	case JVMPI_EVENT_JS_CODE_UNLOAD: js_code_gone(e); break;
	case JVMPI_EVENT_JS_DYNAMIC_CODE:
		check("JS_DYNAMIC_CODE", e->u.js_dynamic_code.name && e->u.js_dynamic_code.code_addr, "no name");
		break;
	case JVMPI_EVENT_JS_GC_PAUSE: js_pause_seen(e); break;
	case JVMPI_EVENT_JS_METHOD:
		checker.method_name_ok = e->u.js_method.class_name && !strcmp(e->u.js_method.class_name, "Jvmpi") &&
					 !strcmp(e->u.js_method.method_name, "spin") && e->u.js_method.start_lineno > 0;
		break;
	case JVMPI_EVENT_JVM_INIT_DONE:
		check("JVM_INIT_DONE", checker.count[JVMPI_EVENT_JVM_INIT_DONE] == 1, "twice");
		check("JVM_INIT_DONE",
		      checker.count[JVMPI_EVENT_CLASS_LOAD] > 100 && checker.count[JVMPI_EVENT_THREAD_START] >= 4,
		      "before classes and threads");
		break;
	case JVMPI_EVENT_DATA_RESET_REQUEST:
		check("DATA_RESET_REQUEST",
		      checker.count[JVMPI_EVENT_DATA_DUMP_REQUEST] == checker.count[JVMPI_EVENT_DATA_RESET_REQUEST],
		      "not behind its DATA_DUMP_REQUEST");
		break;
	default:
		if (type >= JVMPI_EVENT_GC_START || type == JVMPI_EVENT_OBJECT_FREE)
			gc_seen(e);
	}
	checker.asked = false;
}

static void counted(const char *name, jint type)
{
	check(name, checker.count[type & 0xff] > 0, "it never came");
}

static void shut_down(void)
{
	check("JVM_SHUT_DOWN", !checker.ended, "twice");
	checker.ended = true;
	/* One may have been stopped by the kernel on its last steps to the agent. */
	check("events wait in a GC window", checker.in_window <= 1, "%u events between OBJECT_FREE and GC_FINISH",
	      checker.in_window);
	counted("CLASS_LOAD", JVMPI_EVENT_CLASS_LOAD);
	counted("CLASS_UNLOAD", JVMPI_EVENT_CLASS_UNLOAD);
	counted("COMPILED_METHOD_LOAD", JVMPI_EVENT_COMPILED_METHOD_LOAD);
	counted("COMPILED_METHOD_UNLOAD", JVMPI_EVENT_COMPILED_METHOD_UNLOAD);
	counted("THREAD_START", JVMPI_EVENT_THREAD_START);
	counted("THREAD_END", JVMPI_EVENT_THREAD_END);
	counted("GC_START", JVMPI_EVENT_GC_START);
	counted("GC_FINISH", JVMPI_EVENT_GC_FINISH);
	counted("OBJECT_FREE", JVMPI_EVENT_OBJECT_FREE);
	counted("DATA_DUMP_REQUEST", JVMPI_EVENT_DATA_DUMP_REQUEST);
	counted("DATA_RESET_REQUEST", JVMPI_EVENT_DATA_RESET_REQUEST);
	counted("JVM_INIT_DONE", JVMPI_EVENT_JVM_INIT_DONE);
	counted("JS_CODE_LOAD", JVMPI_EVENT_JS_CODE_LOAD);
	counted("JS_CODE_UNLOAD", JVMPI_EVENT_JS_CODE_UNLOAD);
	counted("JS_DYNAMIC_CODE", JVMPI_EVENT_JS_DYNAMIC_CODE);
	counted("JS_GC_PAUSE", JVMPI_EVENT_JS_GC_PAUSE);
	check("JS_CODE_LOAD", checker.inlined > 0, "no inlining in any");
	check("COMPILED_METHOD_LOAD", checker.versions > 0, "no method came twice");
	check("CLASS_LOAD", checker.lambdas > 0, "no class without a source");
	check("THREAD_END", checker.own_ended > 0, "none of the threads whose name is known");
	check_report();
}

/* Nested: the handler asks about the class that is being unloaded. */
static void unloading_ask(jobjectID id)
{
	checker.last_class_methods = -1;
	checker.unloaded = id;
	check("CLASS_UNLOAD", jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, id) == JVMPI_SUCCESS,
	      "RequestEvent in the handler has no answer");
	check("CLASS_UNLOAD", checker.last_class_methods >= 0, "RequestEvent in the handler sent no event");
}

static void notify(JVMPI_Event *e)
{
	bool standing = checker.standing, late = checker.ended;
	jobjectID unloading;

	pthread_mutex_lock(&checker.lock);
	checker.unloading = NULL;
	seen(e, standing);
	unloading = checker.unloading;
	pthread_mutex_unlock(&checker.lock);
	if (unloading)
		unloading_ask(unloading);
	if (e->event_type == JVMPI_EVENT_JVM_INIT_DONE)
		told_check();
	if (e->event_type == JVMPI_EVENT_OBJECT_FREE && !standing)
		usleep(2000); /* others have time to break in */
	if (late)
		check_report(); /* once more: it is written already */
	if (e->event_type == JVMPI_EVENT_JVM_SHUT_DOWN)
		shut_down();
}

static void events_enable(void)
{
	for (jint type = -2; type < 2100; type++) {
		jint r = jvmpi->EnableEvent(type, NULL);

		if (is_counted_elsewhere(type)) {
			check("EnableEvent", r == JVMPI_SUCCESS || (r == JVMPI_NOT_AVAILABLE && may_be_missing(type)),
			      "event %d answers %d", type, r);
			check("DisableEvent", jvmpi->DisableEvent(type, NULL) == JVMPI_SUCCESS, "event %d", type);
			continue;
		}
		check("EnableEvent", r == (is_delivered(type) ? JVMPI_SUCCESS : JVMPI_NOT_AVAILABLE),
		      "event %d answers %d", type, r);
	}
	for (jint type = JVMPI_EVENT_JS_CODE_LOAD; type <= JVMPI_EVENT_JS_GC_PAUSE; type++)
		check("EnableEvent", jvmpi->EnableEvent(type, NULL) == JVMPI_SUCCESS, "extension %x", type);
	check("EnableEvent", jvmpi->EnableEvent(JVMPI_EVENT_JS_METHOD, NULL) == JVMPI_NOT_AVAILABLE, "JS_METHOD");
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	void *first = NULL, *jni = NULL, *none = NULL;

	(void)reserved;
	if (!options || !interface_get(vm, JVMPI_VERSION_1_2))
		return JNI_ERR;
	check_open(options);
	for (jint v = JVMPI_VERSION_1; v <= JVMPI_VERSION_1_2; v++)
		check("GetEnv", !(*vm)->GetEnv(vm, &first, v) && first == jvmpi, "version %x", v);
	check("GetEnv", (*vm)->GetEnv(vm, &none, 0x10000004) != JNI_OK, "a version that never was");
	check("GetEnv", (*vm)->GetEnv(vm, &jni, JNI_VERSION_1_2) == JNI_OK && jni, "no JNIEnv in JVM_OnLoad");
	check("GetEnv", jvmpi->version == JVMPI_VERSION_1_2, "version %x", jvmpi->version);
	jvmpi->NotifyEvent = notify;
	events_enable();
	return JNI_OK;
}
