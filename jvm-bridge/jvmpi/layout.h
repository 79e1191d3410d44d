#ifndef JS_BRIDGE_JVMPI_LAYOUT_H
#define JS_BRIDGE_JVMPI_LAYOUT_H

/* Checks every slot and member of jvmpi.h against the binary layout that JVMPI agents were compiled for (LP64). */
#include <stddef.h>

#include "jvm-bridge/jvmpi/jvmpi.h"

#ifdef __cplusplus
#define JVMPI_ASSERT(e) static_assert(e, #e)
#else
#define JVMPI_ASSERT(e) _Static_assert(e, #e)
#endif

#ifdef __LP64__
#define JVMPI_OFFSET(type, member, offset) JVMPI_ASSERT(offsetof(type, member) == (offset))
#define JVMPI_SLOT(member, n) JVMPI_OFFSET(JVMPI_Interface, member, 8 * (n))
#define JVMPI_AT(member, offset) JVMPI_OFFSET(JVMPI_Event, u.member, offset)
JVMPI_ASSERT(sizeof(JVMPI_Interface) == 240); /* 1: 208, 1.1: 224 */
JVMPI_SLOT(version, 0);
JVMPI_SLOT(NotifyEvent, 1);
JVMPI_SLOT(EnableEvent, 2);
JVMPI_SLOT(DisableEvent, 3);
JVMPI_SLOT(RequestEvent, 4);
JVMPI_SLOT(GetCallTrace, 5);
JVMPI_SLOT(ProfilerExit, 6);
JVMPI_SLOT(RawMonitorCreate, 7);
JVMPI_SLOT(RawMonitorEnter, 8);
JVMPI_SLOT(RawMonitorExit, 9);
JVMPI_SLOT(RawMonitorWait, 10);
JVMPI_SLOT(RawMonitorNotifyAll, 11);
JVMPI_SLOT(RawMonitorDestroy, 12);
JVMPI_SLOT(GetCurrentThreadCpuTime, 13);
JVMPI_SLOT(SuspendThread, 14);
JVMPI_SLOT(ResumeThread, 15);
JVMPI_SLOT(GetThreadStatus, 16);
JVMPI_SLOT(ThreadHasRun, 17);
JVMPI_SLOT(CreateSystemThread, 18);
JVMPI_SLOT(SetThreadLocalStorage, 19);
JVMPI_SLOT(GetThreadLocalStorage, 20);
JVMPI_SLOT(DisableGC, 21);
JVMPI_SLOT(EnableGC, 22);
JVMPI_SLOT(RunGC, 23);
JVMPI_SLOT(GetThreadObject, 24);
JVMPI_SLOT(GetMethodClass, 25);
JVMPI_SLOT(jobjectID2jobject, 26);
JVMPI_SLOT(jobject2jobjectID, 27);
JVMPI_SLOT(SuspendThreadList, 28);
JVMPI_SLOT(ResumeThreadList, 29);
JVMPI_ASSERT(sizeof(JVMPI_CallFrame) == 16);
JVMPI_OFFSET(JVMPI_CallFrame, lineno, 0);
JVMPI_OFFSET(JVMPI_CallFrame, method_id, 8);
JVMPI_ASSERT(sizeof(JVMPI_CallTrace) == 24);
JVMPI_OFFSET(JVMPI_CallTrace, env_id, 0);
JVMPI_OFFSET(JVMPI_CallTrace, num_frames, 8);
JVMPI_OFFSET(JVMPI_CallTrace, frames, 16);
JVMPI_ASSERT(sizeof(JVMPI_Method) == 32);
JVMPI_OFFSET(JVMPI_Method, method_name, 0);
JVMPI_OFFSET(JVMPI_Method, method_signature, 8);
JVMPI_OFFSET(JVMPI_Method, start_lineno, 16);
JVMPI_OFFSET(JVMPI_Method, end_lineno, 20);
JVMPI_OFFSET(JVMPI_Method, method_id, 24);
JVMPI_ASSERT(sizeof(JVMPI_Field) == 16);
JVMPI_OFFSET(JVMPI_Field, field_name, 0);
JVMPI_OFFSET(JVMPI_Field, field_signature, 8);
JVMPI_ASSERT(sizeof(JVMPI_Lineno) == 8);
JVMPI_OFFSET(JVMPI_Lineno, offset, 0);
JVMPI_OFFSET(JVMPI_Lineno, lineno, 4);
JVMPI_ASSERT(sizeof(JVMPI_HeapDumpArg) == 4);
JVMPI_ASSERT(sizeof(JVMPI_Event) == 88);
JVMPI_OFFSET(JVMPI_Event, event_type, 0);
JVMPI_OFFSET(JVMPI_Event, env_id, 8);
JVMPI_OFFSET(JVMPI_Event, u, 16);
JVMPI_AT(class_load.class_name, 16);
JVMPI_AT(class_load.source_name, 24);
JVMPI_AT(class_load.num_interfaces, 32);
JVMPI_AT(class_load.num_methods, 36);
JVMPI_AT(class_load.methods, 40);
JVMPI_AT(class_load.num_static_fields, 48);
JVMPI_AT(class_load.statics, 56);
JVMPI_AT(class_load.num_instance_fields, 64);
JVMPI_AT(class_load.instances, 72);
JVMPI_AT(class_load.class_id, 80);
JVMPI_AT(class_unload.class_id, 16);
JVMPI_AT(class_load_hook.class_data, 16);
JVMPI_AT(class_load_hook.class_data_len, 24);
JVMPI_AT(class_load_hook.new_class_data, 32);
JVMPI_AT(class_load_hook.new_class_data_len, 40);
JVMPI_AT(class_load_hook.malloc_f, 48);
JVMPI_AT(obj_alloc.arena_id, 16);
JVMPI_AT(obj_alloc.class_id, 24);
JVMPI_AT(obj_alloc.is_array, 32);
JVMPI_AT(obj_alloc.size, 36);
JVMPI_AT(obj_alloc.obj_id, 40);
JVMPI_AT(obj_free.obj_id, 16);
JVMPI_AT(obj_move.arena_id, 16);
JVMPI_AT(obj_move.obj_id, 24);
JVMPI_AT(obj_move.new_arena_id, 32);
JVMPI_AT(obj_move.new_obj_id, 40);
JVMPI_AT(new_arena.arena_id, 16);
JVMPI_AT(new_arena.arena_name, 24);
JVMPI_AT(delete_arena.arena_id, 16);
JVMPI_AT(thread_start.thread_name, 16);
JVMPI_AT(thread_start.group_name, 24);
JVMPI_AT(thread_start.parent_name, 32);
JVMPI_AT(thread_start.thread_id, 40);
JVMPI_AT(thread_start.thread_env_id, 48);
JVMPI_AT(heap_dump.dump_level, 16);
JVMPI_AT(heap_dump.begin, 24);
JVMPI_AT(heap_dump.end, 32);
JVMPI_AT(heap_dump.num_traces, 40);
JVMPI_AT(heap_dump.traces, 48);
JVMPI_AT(jni_globalref_alloc.obj_id, 16);
JVMPI_AT(jni_globalref_alloc.ref_id, 24);
JVMPI_AT(jni_globalref_free.ref_id, 16);
JVMPI_AT(method.method_id, 16);
JVMPI_AT(method_entry2.method_id, 16);
JVMPI_AT(method_entry2.obj_id, 24);
JVMPI_AT(compiled_method_load.method_id, 16);
JVMPI_AT(compiled_method_load.code_addr, 24);
JVMPI_AT(compiled_method_load.code_size, 32);
JVMPI_AT(compiled_method_load.lineno_table_size, 36);
JVMPI_AT(compiled_method_load.lineno_table, 40);
JVMPI_AT(compiled_method_unload.method_id, 16);
JVMPI_AT(instruction.method_id, 16);
JVMPI_AT(instruction.offset, 24);
JVMPI_AT(instruction.u.if_info.is_true, 28);
JVMPI_AT(instruction.u.tableswitch_info.key, 28);
JVMPI_AT(instruction.u.tableswitch_info.low, 32);
JVMPI_AT(instruction.u.tableswitch_info.hi, 36);
JVMPI_AT(instruction.u.lookupswitch_info.chosen_pair_index, 28);
JVMPI_AT(instruction.u.lookupswitch_info.pairs_total, 32);
JVMPI_AT(instruction.u.lookupswitch_info.is_default, 36);
JVMPI_AT(monitor_dump.begin, 16);
JVMPI_AT(monitor_dump.end, 24);
JVMPI_AT(monitor_dump.num_traces, 32);
JVMPI_AT(monitor_dump.traces, 40);
JVMPI_AT(monitor_dump.threads_status, 48);
JVMPI_AT(raw_monitor.name, 16);
JVMPI_AT(raw_monitor.id, 24);
JVMPI_AT(monitor.object, 16);
JVMPI_AT(monitor_wait.object, 16);
JVMPI_AT(monitor_wait.timeout, 24);
JVMPI_AT(gc_info.used_objects, 16);
JVMPI_AT(gc_info.used_object_space, 24);
JVMPI_AT(gc_info.total_object_space, 32);
JVMPI_AT(object_dump.data_len, 16);
JVMPI_AT(object_dump.data, 24);
#endif

#endif
