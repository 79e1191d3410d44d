#ifndef JS_BRIDGE_JVMPI_H
#define JS_BRIDGE_JVMPI_H

#include <jni.h>

/*
 * The Java Virtual Machine Profiler Interface, versions 1, 1.1 and 1.2 (JDK 1.2 to 5), written anew from
 * the specification: an agent compiled against the header of that time finds the same binary layout
 * here (layout.h), and its source compiles against this header. The names are the specification's, hence the
 * typedefs and capitals. What the bridge delivers of it: docs/jvmpi.md.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* Versions for GetEnv. */
#define JVMPI_VERSION_1 ((jint)0x10000001)
#define JVMPI_VERSION_1_1 ((jint)0x10000002) /* adds jobjectID2jobject and back, INSTRUCTION_START */
#define JVMPI_VERSION_1_2 ((jint)0x10000003) /* adds SuspendThreadList, ResumeThreadList */
#define JVMPI_VERSION_HOTSPOT JVMPI_VERSION_1_1

/* Events. */
#define JVMPI_EVENT_METHOD_ENTRY ((jint)1)
#define JVMPI_EVENT_METHOD_ENTRY2 ((jint)2)
#define JVMPI_EVENT_METHOD_EXIT ((jint)3)
#define JVMPI_EVENT_OBJECT_ALLOC ((jint)4)
#define JVMPI_EVENT_OBJECT_FREE ((jint)5)
#define JVMPI_EVENT_OBJECT_MOVE ((jint)6)
#define JVMPI_EVENT_COMPILED_METHOD_LOAD ((jint)7)
#define JVMPI_EVENT_COMPILED_METHOD_UNLOAD ((jint)8)
#define JVMPI_EVENT_INSTRUCTION_START ((jint)9)
#define JVMPI_EVENT_THREAD_START ((jint)33)
#define JVMPI_EVENT_THREAD_END ((jint)34)
#define JVMPI_EVENT_CLASS_LOAD_HOOK ((jint)35)
#define JVMPI_EVENT_HEAP_DUMP ((jint)37)
#define JVMPI_EVENT_JNI_GLOBALREF_ALLOC ((jint)38)
#define JVMPI_EVENT_JNI_GLOBALREF_FREE ((jint)39)
#define JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC ((jint)40)
#define JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE ((jint)41)
#define JVMPI_EVENT_CLASS_LOAD ((jint)42)
#define JVMPI_EVENT_CLASS_UNLOAD ((jint)43)
#define JVMPI_EVENT_DATA_DUMP_REQUEST ((jint)44)
#define JVMPI_EVENT_DATA_RESET_REQUEST ((jint)45)
#define JVMPI_EVENT_JVM_INIT_DONE ((jint)46)
#define JVMPI_EVENT_JVM_SHUT_DOWN ((jint)47)
#define JVMPI_EVENT_ARENA_NEW ((jint)48)
#define JVMPI_EVENT_ARENA_DELETE ((jint)49)
#define JVMPI_EVENT_OBJECT_DUMP ((jint)50)
#define JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER ((jint)51)
#define JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED ((jint)52)
#define JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT ((jint)53)
#define JVMPI_EVENT_MONITOR_CONTENDED_ENTER ((jint)54)
#define JVMPI_EVENT_MONITOR_CONTENDED_ENTERED ((jint)55)
#define JVMPI_EVENT_MONITOR_CONTENDED_EXIT ((jint)56)
#define JVMPI_EVENT_MONITOR_WAIT ((jint)57)
#define JVMPI_EVENT_MONITOR_WAITED ((jint)58)
#define JVMPI_EVENT_MONITOR_DUMP ((jint)59)
#define JVMPI_EVENT_GC_START ((jint)60)
#define JVMPI_EVENT_GC_FINISH ((jint)61)
#define JVMPI_MAX_EVENT_TYPE_VAL 61
#define JVMPI_REQUESTED_EVENT ((jint)0x10000000) /* bit of events that answer RequestEvent */

/* Spellings of hprof's time. */
#define JVMPI_EVENT_OBJ_ALLOC JVMPI_EVENT_OBJECT_ALLOC
#define JVMPI_EVENT_OBJ_FREE JVMPI_EVENT_OBJECT_FREE
#define JVMPI_EVENT_OBJ_MOVE JVMPI_EVENT_OBJECT_MOVE
#define JVMPI_EVENT_LOAD_COMPILED_METHOD JVMPI_EVENT_COMPILED_METHOD_LOAD
#define JVMPI_EVENT_UNLOAD_COMPILED_METHOD JVMPI_EVENT_COMPILED_METHOD_UNLOAD
#define JVMPI_EVENT_DUMP_DATA_REQUEST JVMPI_EVENT_DATA_DUMP_REQUEST
#define JVMPI_EVENT_RESET_DATA_REQUEST JVMPI_EVENT_DATA_RESET_REQUEST
#define JVMPI_EVENT_NEW_ARENA JVMPI_EVENT_ARENA_NEW
#define JVMPI_EVENT_DELETE_ARENA JVMPI_EVENT_ARENA_DELETE
/* Spellings of the 1.2 text. */
#define JVMPI_EVENT_INIT_DONE JVMPI_EVENT_JVM_INIT_DONE
#define JVMPI_EVENT_RAW_MONITOR_CONTENTED_ENTER JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER
#define JVMPI_EVENT_RAW_MONITOR_CONTENTED_ENTERED JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED
#define JVMPI_EVENT_RAW_MONITOR_CONTENTED_EXIT JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT
#define JVMPI_EVENT_MONITOR_CONTENTED_ENTER JVMPI_EVENT_MONITOR_CONTENDED_ENTER
#define JVMPI_EVENT_MONITOR_CONTENTED_ENTERED JVMPI_EVENT_MONITOR_CONTENDED_ENTERED
#define JVMPI_EVENT_MONITOR_CONTENTED_EXIT JVMPI_EVENT_MONITOR_CONTENDED_EXIT

/*
 * Extensions of the bridge, outside the historical range (1 to 61) and IBM's (2000 to 2023); another JVMPI
 * answers JVMPI_NOT_AVAILABLE. docs/jvmpi.md describes them.
 */
#define JVMPI_EVENT_JS_CODE_LOAD ((jint)0x4a00) /* compiled method with its inlining */
#define JVMPI_EVENT_JS_CODE_UNLOAD ((jint)0x4a01)
#define JVMPI_EVENT_JS_DYNAMIC_CODE ((jint)0x4a02)
#define JVMPI_EVENT_JS_GC_PAUSE ((jint)0x4a03)
#define JVMPI_EVENT_JS_METHOD ((jint)0x4a10) /* request only; arg: jmethodID */
#define JVMPI_EVENT_JS_REPLAY ((jint)0x4a11) /* request only; arg: NULL. Present state of what is enabled. */
#define JVMPI_EVENT_JS_LEAN ((jint)0x4a12) /* request only; arg: NULL. I need less than others. */
#define JVMPI_EVENT_JS_ADDRESSES ((jint)0x4a13) /* request only; arg: JVMPI_JS_Addresses */

/* Results. */
#define JVMPI_SUCCESS ((jint)0)
#define JVMPI_NOT_AVAILABLE ((jint)1)
#define JVMPI_FAIL ((jint)-1)

enum { JVMPI_THREAD_RUNNABLE = 1, JVMPI_THREAD_MONITOR_WAIT, JVMPI_THREAD_CONDVAR_WAIT };
#define JVMPI_THREAD_SUSPENDED 0x8000
#define JVMPI_THREAD_INTERRUPTED 0x4000

#define JVMPI_MINIMUM_PRIORITY 1
#define JVMPI_MAXIMUM_PRIORITY 10
#define JVMPI_NORMAL_PRIORITY 5

/* Types of objects and of array elements. */
#define JVMPI_NORMAL_OBJECT ((jint)0)
#define JVMPI_CLASS ((jint)2)
#define JVMPI_BOOLEAN ((jint)4)
#define JVMPI_CHAR ((jint)5)
#define JVMPI_FLOAT ((jint)6)
#define JVMPI_DOUBLE ((jint)7)
#define JVMPI_BYTE ((jint)8)
#define JVMPI_SHORT ((jint)9)
#define JVMPI_INT ((jint)10)
#define JVMPI_LONG ((jint)11)

#define JVMPI_DUMP_LEVEL_0 ((jint)0)
#define JVMPI_DUMP_LEVEL_1 ((jint)1)
#define JVMPI_DUMP_LEVEL_2 ((jint)2)

/*
 * Dump formats. u2, u4, u8, float and double are big-endian; jobjectID, JNIEnv *, jobject,
 * JVMPI_RawMonitor and char * have the native width and byte order; nothing is aligned.
 * Heap dump, level 0: { u1 type, jobjectID } an object. Level 2: root records, then objects:
 *   UNKNOWN, STICKY_CLASS, MONITOR_USED   u1, id
 *   JNI_GLOBAL                            u1, id, jobject
 *   JNI_LOCAL, JAVA_FRAME                 u1, id, JNIEnv *, u4 depth (0xffffffff: empty stack)
 *   NATIVE_STACK, THREAD_BLOCK            u1, id, JNIEnv *
 *   CLASS_DUMP   u1, id class, super, loader, signers, protection domain, name, void * reserved,
 *                u4 instance size, id interfaces (as many as CLASS_LOAD said), u2 n, n of { u2 index,
 *                u1 type, value } of the constant pool, values of the statics in CLASS_LOAD's order
 *   INSTANCE_DUMP    u1, id, id class, u4 bytes, values: own fields, then the superclass's, ...
 *   OBJ_ARRAY_DUMP   u1, id, u4 n, id element class, n ids
 *   PRIM_ARRAY_DUMP  u1, id, u4 n, u1 type, n values
 * Level 1: as level 2 without primitive fields and elements; counts stay.
 * Monitor dump:
 *   JAVA  u1, id, JNIEnv * owner, u4 entry count, u4 n, n JNIEnv * entering, u4 m, m JNIEnv * waiting
 *   RAW   u1, char * name, JVMPI_RawMonitor, then as JAVA from the owner on
 */
#define JVMPI_MONITOR_JAVA 0x01
#define JVMPI_MONITOR_RAW 0x02

#define JVMPI_GC_ROOT_UNKNOWN 0xff
#define JVMPI_GC_ROOT_JNI_GLOBAL 0x01
#define JVMPI_GC_ROOT_JNI_LOCAL 0x02
#define JVMPI_GC_ROOT_JAVA_FRAME 0x03
#define JVMPI_GC_ROOT_NATIVE_STACK 0x04
#define JVMPI_GC_ROOT_STICKY_CLASS 0x05
#define JVMPI_GC_ROOT_THREAD_BLOCK 0x06
#define JVMPI_GC_ROOT_MONITOR_USED 0x07
#define JVMPI_GC_ROOT_THREAD_OBJ 0x08
#define JVMPI_GC_CLASS_DUMP 0x20
#define JVMPI_GC_INSTANCE_DUMP 0x21
#define JVMPI_GC_OBJ_ARRAY_DUMP 0x22
#define JVMPI_GC_PRIM_ARRAY_DUMP 0x23

struct _jobjectID;
typedef struct _jobjectID *jobjectID;
struct _JVMPI_RawMonitor;
typedef struct _JVMPI_RawMonitor *JVMPI_RawMonitor;
typedef void (*jvmpi_void_function_of_void)(void *);

/* Line numbers in frames: > 0, -1 unknown, -2 compiled by the Classic VM, -3 native method. */
typedef struct {
	jint lineno;
	jmethodID method_id;
} JVMPI_CallFrame;

typedef struct {
	JNIEnv *env_id;
	jint num_frames;
	JVMPI_CallFrame *frames; /* [0] is the innermost; the agent's memory */
} JVMPI_CallTrace;

typedef struct {
	char *method_name;
	char *method_signature;
	jint start_lineno;
	jint end_lineno;
	jmethodID method_id;
} JVMPI_Method;

typedef struct {
	char *field_name;
	char *field_signature;
} JVMPI_Field;

typedef struct {
	jint offset;
	jint lineno;
} JVMPI_Lineno;

typedef struct {
	jint heap_dump_level;
} JVMPI_HeapDumpArg;

/* Of JS_CODE_LOAD: a method that runs at a bytecode, inlined into its parent scope. */
typedef struct {
	jint parent; /* index of a scope before this one; -1: outermost */
	jint bci; /* -1: method entry */
	jmethodID method_id;
	jint lineno;
} JVMPI_JS_Scope;

/* Code from the previous range's end to before this end is at the scope. */
typedef struct {
	jint end; /* bytes behind code_addr, ascending */
	jint scope;
} JVMPI_JS_Range;

typedef struct {
	jint event_type;
	JNIEnv *env_id; /* the thread that the event happened in */
	union {
		struct {
			char *class_name;
			char *source_name;
			jint num_interfaces;
			jint num_methods;
			JVMPI_Method *methods;
			jint num_static_fields;
			JVMPI_Field *statics;
			jint num_instance_fields;
			JVMPI_Field *instances;
			jobjectID class_id;
		} class_load;
		struct {
			jobjectID class_id;
		} class_unload;
		struct {
			unsigned char *class_data;
			jint class_data_len;
			unsigned char *new_class_data;
			jint new_class_data_len;
			void *(*malloc_f)(unsigned int);
		} class_load_hook;
		struct {
			jint arena_id;
			jobjectID class_id;
			jint is_array;
			jint size;
			jobjectID obj_id;
		} obj_alloc;
		struct {
			jobjectID obj_id;
		} obj_free;
		struct {
			jint arena_id;
			jobjectID obj_id;
			jint new_arena_id;
			jobjectID new_obj_id;
		} obj_move;
		struct {
			jint arena_id;
			char *arena_name;
		} new_arena;
		struct {
			jint arena_id;
		} delete_arena;
		struct {
			char *thread_name;
			char *group_name;
			char *parent_name;
			jobjectID thread_id;
			JNIEnv *thread_env_id;
		} thread_start;
		struct {
			int dump_level;
			char *begin;
			char *end;
			jint num_traces;
			JVMPI_CallTrace *traces;
		} heap_dump;
		struct {
			jobjectID obj_id;
			jobject ref_id;
		} jni_globalref_alloc;
		struct {
			jobject ref_id;
		} jni_globalref_free;
		struct {
			jmethodID method_id;
		} method;
		struct {
			jmethodID method_id;
			jobjectID obj_id;
		} method_entry2;
		struct {
			jmethodID method_id;
			void *code_addr;
			jint code_size;
			jint lineno_table_size;
			JVMPI_Lineno *lineno_table;
		} compiled_method_load;
		struct {
			jmethodID method_id;
		} compiled_method_unload;
		struct {
			jmethodID method_id;
			jint offset;
			union {
				struct {
					jboolean is_true;
				} if_info;
				struct {
					jint key;
					jint low;
					jint hi;
				} tableswitch_info;
				struct {
					jint chosen_pair_index; /* == pairs_total: default */
					jint pairs_total;
					jboolean is_default; /* in the specification's text instead of pairs_total */
				} lookupswitch_info;
			} u;
		} instruction;
		struct {
			char *begin;
			char *end;
			jint num_traces;
			JVMPI_CallTrace *traces;
			jint *threads_status;
		} monitor_dump;
		struct {
			char *name;
			JVMPI_RawMonitor id;
		} raw_monitor;
		struct {
			jobjectID object;
		} monitor;
		struct {
			jobjectID object;
			jlong timeout;
		} monitor_wait;
		struct {
			jlong used_objects;
			jlong used_object_space;
			jlong total_object_space;
		} gc_info;
		struct {
			jint data_len;
			char *data;
		} object_dump;
		struct { /* JS_CODE_LOAD; JS_CODE_UNLOAD: the first two */
			jmethodID method_id;
			void *code_addr;
			jint code_size;
			jint num_scopes;
			JVMPI_JS_Scope *scopes;
			JVMPI_JS_Range *ranges;
			jint num_ranges;
		} js_code;
		struct {
			char *name;
			void *code_addr;
			jint code_size;
		} js_dynamic_code;
		struct { /* CLOCK_MONOTONIC, ns */
			jlong begin;
			jlong end;
		} js_gc_pause;
		struct {
			jmethodID method_id;
			char *class_name;
			char *source_name;
			char *method_name;
			char *method_signature;
			jint start_lineno;
			jint end_lineno;
		} js_method;
	} u;
} JVMPI_Event;

/*
 * Filled in by RequestEvent(JVMPI_EVENT_JS_ADDRESSES): where the JVM keeps the methods of one class (what frames
 * of its interpreter refer to). FAIL: it cannot be known of these; NOT_AVAILABLE: of none in this JVM.
 */
typedef struct {
	jint num_methods;
	const JVMPI_Method *methods; /* as CLASS_LOAD has them */
	jlong *addresses; /* as many */
} JVMPI_JS_Addresses;

/* One struct for all versions: a later one appends. */
typedef struct {
	jint version;
	void (*NotifyEvent)(JVMPI_Event *event); /* the agent fills it in */
	jint (*EnableEvent)(jint event_type, void *arg);
	jint (*DisableEvent)(jint event_type, void *arg);
	jint (*RequestEvent)(jint event_type, void *arg);
	void (*GetCallTrace)(JVMPI_CallTrace *trace, jint depth);
	void (*ProfilerExit)(jint code);
	JVMPI_RawMonitor (*RawMonitorCreate)(char *name);
	void (*RawMonitorEnter)(JVMPI_RawMonitor monitor);
	void (*RawMonitorExit)(JVMPI_RawMonitor monitor);
	void (*RawMonitorWait)(JVMPI_RawMonitor monitor, jlong ms);
	void (*RawMonitorNotifyAll)(JVMPI_RawMonitor monitor);
	void (*RawMonitorDestroy)(JVMPI_RawMonitor monitor);
	jlong (*GetCurrentThreadCpuTime)(void);
	void (*SuspendThread)(JNIEnv *env);
	void (*ResumeThread)(JNIEnv *env);
	jint (*GetThreadStatus)(JNIEnv *env);
	jboolean (*ThreadHasRun)(JNIEnv *env);
	jint (*CreateSystemThread)(char *name, jint priority, void (*f)(void *));
	void (*SetThreadLocalStorage)(JNIEnv *env, void *data);
	void *(*GetThreadLocalStorage)(JNIEnv *env);
	void (*DisableGC)(void);
	void (*EnableGC)(void);
	void (*RunGC)(void);
	jobjectID (*GetThreadObject)(JNIEnv *env);
	jobjectID (*GetMethodClass)(jmethodID method);
	/* 1.1 */
	jobject (*jobjectID2jobject)(jobjectID id);
	jobjectID (*jobject2jobjectID)(jobject object);
	/* 1.2 */
	void (*SuspendThreadList)(jint n, JNIEnv **envs, jint *results);
	void (*ResumeThreadList)(jint n, JNIEnv **envs, jint *results);
} JVMPI_Interface;

/* What the agent's library exports. Anything but JNI_OK ends the JVM's start. */
JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved);

#ifdef __cplusplus
}
#endif

#endif
