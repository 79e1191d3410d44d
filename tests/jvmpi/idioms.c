/*
 * What agents of 1998 to 2004 wrote, in the C and C++ of their time: not run, only compiled (tests/unit/jvmpi_idioms.py).
 * Nothing here may need a later language: no declarations behind statements, no comments to the line's end.
 */
#include <jvmpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static JVMPI_Interface *jvmpi_interface;
static JVMPI_RawMonitor data_lock;
static JavaVM *jvm;
static JNIEnv *profiler_env;

#define CALL(routine) (jvmpi_interface->routine)

typedef struct method_entry {
	jmethodID id;
	char *name;
	struct method_entry *next;
} method_entry;

static method_entry *methods;
static int ids[16];
static void *(*allocate)(unsigned int);

static void method_new(jobjectID class_id, JVMPI_Method *m)
{
	method_entry *e = (method_entry *)malloc(sizeof(method_entry));
	char *name = m->method_name;

	e->id = m->method_id;
	e->name = name;
	e->next = methods;
	methods = e;
	ids[0] = (int)(long)class_id;
}

static void class_new(JVMPI_Event *event)
{
	char *name = event->u.class_load.class_name, *source = event->u.class_load.source_name;
	JVMPI_Field *f = event->u.class_load.statics;
	int i;

	for (i = 0; i < event->u.class_load.num_methods; i++)
		method_new(event->u.class_load.class_id, &event->u.class_load.methods[i]);
	for (i = 0; i < event->u.class_load.num_static_fields; i++)
		printf("%s %s\n", f[i].field_name, f[i].field_signature);
	printf("%s %s\n", name, source ? source : "<Unknown>");
}

static void trace_take(JNIEnv *env)
{
	JVMPI_CallFrame frames[4];
	JVMPI_CallTrace trace;
	jint status = CALL(GetThreadStatus)(env);

	trace.env_id = env;
	trace.frames = frames;
	if ((status & ~JVMPI_THREAD_INTERRUPTED) != JVMPI_THREAD_RUNNABLE || CALL(ThreadHasRun)(env) == JNI_FALSE)
		return;
	CALL(SuspendThread)(env);
	CALL(GetCallTrace)(&trace, 4);
	CALL(ResumeThread)(env);
	while (trace.num_frames-- > 0)
		printf("%p %ld\n", (void *)trace.frames[trace.num_frames].method_id,
		       (long)trace.frames[trace.num_frames].lineno);
}

static void sampler_main(void *p)
{
	CALL(RawMonitorEnter)(data_lock);
	CALL(DisableGC)();
	trace_take((JNIEnv *)CALL(GetThreadLocalStorage)(profiler_env));
	CALL(EnableGC)();
	CALL(RawMonitorWait)(data_lock, (jlong)10);
	CALL(RawMonitorExit)(data_lock);
	if (p)
		CALL(ProfilerExit)((jint)1);
}

static void heap_dump(int level)
{
	JVMPI_HeapDumpArg arg;

	arg.heap_dump_level = level;
	if (CALL(RequestEvent)(JVMPI_EVENT_HEAP_DUMP, (void *)&arg) == JVMPI_FAIL)
		fprintf(stderr, "no dump\n");
	CALL(RequestEvent)(JVMPI_EVENT_OBJ_ALLOC, (void *)CALL(GetThreadObject)(profiler_env));
}

static void instruction(JVMPI_Event *event)
{
	jint pairs = event->u.instruction.u.lookupswitch_info.pairs_total;

	if (event->u.instruction.u.lookupswitch_info.is_default || !event->u.instruction.u.if_info.is_true)
		printf("%ld %ld\n", (long)pairs, (long)event->u.instruction.u.tableswitch_info.hi);
}

static void class_hook(JVMPI_Event *event)
{
	unsigned char *copy;

	allocate = event->u.class_load_hook.malloc_f;
	copy = (unsigned char *)allocate((unsigned int)event->u.class_load_hook.class_data_len);
	memcpy(copy, event->u.class_load_hook.class_data, (size_t)event->u.class_load_hook.class_data_len);
	event->u.class_load_hook.new_class_data = copy;
	event->u.class_load_hook.new_class_data_len = event->u.class_load_hook.class_data_len;
}

static void notify(JVMPI_Event *event)
{
	static char name[] = "sampler";

	switch (event->event_type) {
	case JVMPI_EVENT_CLASS_LOAD:
	case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT: class_new(event); break;
	case JVMPI_EVENT_CLASS_LOAD_HOOK: class_hook(event); break;
	case JVMPI_EVENT_THREAD_START:
		CALL(SetThreadLocalStorage)
		(event->u.thread_start.thread_env_id, (void *)event->u.thread_start.thread_name);
		break;
	case JVMPI_EVENT_OBJ_MOVE:
		if (event->u.obj_move.obj_id != event->u.obj_move.new_obj_id)
			ids[event->u.obj_move.arena_id] = 0;
		break;
	case JVMPI_EVENT_OBJ_ALLOC:
		if (event->u.obj_alloc.is_array == JVMPI_NORMAL_OBJECT)
			ids[event->u.obj_alloc.arena_id] = (int)event->u.obj_alloc.size;
		break;
	case JVMPI_EVENT_INSTRUCTION_START: instruction(event); break;
	case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER:
		printf("%s %p\n", event->u.raw_monitor.name, (void *)event->u.raw_monitor.id);
		break;
	case JVMPI_EVENT_JVM_INIT_DONE:
		profiler_env = event->env_id;
		CALL(CreateSystemThread)(name, JVMPI_NORMAL_PRIORITY, (jvmpi_void_function_of_void)sampler_main);
		break;
	case JVMPI_EVENT_DUMP_DATA_REQUEST: heap_dump(JVMPI_DUMP_LEVEL_2); break;
	case JVMPI_EVENT_JVM_SHUT_DOWN: CALL(RawMonitorDestroy)(data_lock); break;
	default: break;
	}
}

#ifdef __cplusplus
extern "C" {
#endif

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static char name[] = "_agent data lock";
	void *p;
	int res;

	jvm = vm;
#ifdef __cplusplus
	res = jvm->GetEnv(&p, JVMPI_VERSION_1);
#else
	res = (*jvm)->GetEnv(jvm, &p, JVMPI_VERSION_1);
#endif
	if (res < 0 || reserved || (options && strcmp(options, "help") == 0))
		return JNI_ERR;
	jvmpi_interface = (JVMPI_Interface *)p;
	jvmpi_interface->NotifyEvent = notify;
	data_lock = CALL(RawMonitorCreate)(name);
	CALL(EnableEvent)(JVMPI_EVENT_CLASS_LOAD, NULL);
	CALL(EnableEvent)(JVMPI_EVENT_JVM_INIT_DONE, NULL);
	return JNI_OK;
}

#ifdef __cplusplus
}
#endif
