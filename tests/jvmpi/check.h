#ifndef JS_TESTS_JVMPI_CHECK_H
#define JS_TESTS_JVMPI_CHECK_H

#include <stdbool.h>

#include "jvm-bridge/jvmpi/jvmpi.h"

/*
 * What the test agents share. A check has the name of a row of docs/jvmpi.md; it is ok when it was
 * made at least once and never failed. check_report() writes "ok NAME" or "FAIL NAME: why" lines.
 */
extern JVMPI_Interface *jvmpi;
extern JavaVM *java_vm;

void check(const char *name, bool ok, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void check_open(const char *path); /* where the report goes */
void check_report(void);
/* A file with this alone: the result of an agent that has no table of checks. */
void say(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool interface_get(JavaVM *vm, jint version);
JNIEnv *env_here(void);

/*
 * burner.c: SuspendThread, ResumeThread, SuspendThread, and what ThreadHasRun says then of a thread that never left
 * native code and ran meanwhile. -1: there is no such thread.
 */
int burner_has_run(void);

/* Sets of pointers with a value; not thread-safe. */
struct table {
	struct entry *entries;
	unsigned n, cap;
};

struct entry {
	const void *key;
	char *name;
	int value;
};

struct entry *table_find(struct table *t, const void *key); /* NULL: not there */
struct entry *table_add(struct table *t, const void *key, const char *name);
void table_drop(struct table *t, const void *key);

#endif
