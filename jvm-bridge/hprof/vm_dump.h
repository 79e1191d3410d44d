#ifndef JS_HPROF_VM_DUMP_H
#define JS_HPROF_VM_DUMP_H

#include <jni.h>
#include <stdbool.h>

/*
 * The JVM's own heap dump, of live objects, made by com.sun.management.HotSpotDiagnosticMXBean: faster than JVMPI's,
 * and it needs no ids in the JVM. It is written to a file first, in a directory that only this user can enter, next
 * to the output or in /tmp.
 */
bool vm_dump_make(JavaVM *vm); /* false: not available. Without hprof.data: it runs Java code. */
void vm_dump_copy(void); /* copies all its records to the output. With hprof.data. */
void vm_dump_remove(void);

#endif
