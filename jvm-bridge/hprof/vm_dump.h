#ifndef JS_HPROF_VM_DUMP_H
#define JS_HPROF_VM_DUMP_H

#include <jni.h>
#include <stdbool.h>

/*
 * The JVM's own heap dump, of what lives, by com.sun.management.HotSpotDiagnosticMXBean: quicker than JVMPI's, and without
 * ids in the JVM. It goes to a file first, in a directory that only this user can enter, beside the output or in /tmp.
 */
bool vm_dump_make(JavaVM *vm); /* false: it cannot be had. Without hprof.data: it runs Java code. */
void vm_dump_copy(void); /* its records, all of them. With hprof.data. */
void vm_dump_remove(void);

#endif
