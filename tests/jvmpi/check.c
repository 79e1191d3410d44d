#include "tests/jvmpi/check.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

JVMPI_Interface *jvmpi;
JavaVM *java_vm;

enum { CHECKS_MAX = 256 };

static struct {
	pthread_mutex_t lock;
	struct {
		char name[64], why[200];
		unsigned made, failed;
	} at[CHECKS_MAX];
	unsigned n;
	char path[4096];
} checks = {.lock = PTHREAD_MUTEX_INITIALIZER};

void check(const char *name, bool ok, const char *fmt, ...)
{
	unsigned i;
	va_list ap;

	pthread_mutex_lock(&checks.lock);
	for (i = 0; i < checks.n && strcmp(checks.at[i].name, name); i++)
		;
	if (i == checks.n && i < CHECKS_MAX) {
		snprintf(checks.at[i].name, sizeof(checks.at[i].name), "%s", name);
		checks.n++;
	}
	if (i < CHECKS_MAX) {
		checks.at[i].made++;
		if (!ok && !checks.at[i].failed++) {
			va_start(ap, fmt);
			vsnprintf(checks.at[i].why, sizeof(checks.at[i].why), fmt, ap);
			va_end(ap);
		}
	}
	pthread_mutex_unlock(&checks.lock);
}

void check_open(const char *path)
{
	snprintf(checks.path, sizeof(checks.path), "%s", path);
}

void check_report(void)
{
	FILE *f;

	pthread_mutex_lock(&checks.lock);
	f = fopen(checks.path, "we");
	for (unsigned i = 0; f && i < checks.n; i++)
		if (checks.at[i].failed)
			fprintf(f, "FAIL %s: %s (%u of %u)\n", checks.at[i].name, checks.at[i].why, checks.at[i].failed,
				checks.at[i].made);
		else
			fprintf(f, "ok %s %u\n", checks.at[i].name, checks.at[i].made);
	if (f)
		fclose(f);
	pthread_mutex_unlock(&checks.lock);
}

void say(const char *path, const char *fmt, ...)
{
	FILE *f = fopen(path, "we");
	va_list ap;

	if (!f)
		return;
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
}

bool interface_get(JavaVM *vm, jint version)
{
	void *p = NULL;

	java_vm = vm;
	if ((*vm)->GetEnv(vm, &p, version) || !p)
		return false;
	jvmpi = p;
	return true;
}

JNIEnv *env_here(void)
{
	void *env = NULL;

	return (*java_vm)->GetEnv(java_vm, &env, JNI_VERSION_1_2) ? NULL : env;
}

static unsigned place(const struct table *t, const void *key)
{
	unsigned i = (unsigned)(((unsigned long)key * 0x9e3779b97f4a7c15ul) >> 40) & (t->cap - 1);

	while (t->entries[i].key && t->entries[i].key != key)
		i = (i + 1) & (t->cap - 1);
	return i;
}

struct entry *table_find(struct table *t, const void *key)
{
	struct entry *e = t->cap ? &t->entries[place(t, key)] : NULL;

	return e && e->key && !(e->value & 0x40000000) ? e : NULL;
}

struct entry *table_add(struct table *t, const void *key, const char *name)
{
	struct entry *e;

	if (t->n * 2 >= t->cap) {
		struct table more = {calloc(t->cap ? t->cap * 2 : 1024, sizeof(*e)), t->n, t->cap ? t->cap * 2 : 1024};

		if (!more.entries)
			abort();
		for (unsigned i = 0; i < t->cap; i++)
			if (t->entries[i].key)
				more.entries[place(&more, t->entries[i].key)] = t->entries[i];
		free(t->entries);
		*t = more;
	}
	e = &t->entries[place(t, key)];
	if (!e->key)
		t->n++;
	free(e->name);
	*e = (struct entry){key, name ? strdup(name) : NULL, 0};
	return e;
}

/* The entry stays as a tombstone: keys come again. */
void table_drop(struct table *t, const void *key)
{
	struct entry *e = table_find(t, key);

	if (e)
		e->value = 0x40000000;
}
