/* Class files: Hooked is given back in memory of malloc_f, Hooked2 in memory of our own. */
#include <string.h>

#include "tests/jvmpi/events.h"

static int hooked;

static unsigned char *find(unsigned char *p, jint n, const char *text)
{
	return memmem(p, (size_t)n, text, strlen(text));
}

static void hook_seen(JVMPI_Event *e, jint type)
{
	static unsigned char own[4096];
	jint n = e->u.class_load_hook.class_data_len;
	unsigned char *data = e->u.class_load_hook.class_data, *copy, *at;

	if (type != JVMPI_EVENT_CLASS_LOAD_HOOK)
		return;
	check("CLASS_LOAD_HOOK", n > 4 && !memcmp(data, "\xca\xfe\xba\xbe", 4) && e->u.class_load_hook.malloc_f,
	      "no class file");
	e->u.class_load_hook.new_class_data = data;
	e->u.class_load_hook.new_class_data_len = n;
	if (!jvmpi_events.main || !find(data, n, "text before") || n > (jint)sizeof(own))
		return;
	copy = find(data, n, "Events$Hooked2") ? own : e->u.class_load_hook.malloc_f((unsigned)n);
	check("CLASS_LOAD_HOOK", copy, "no memory");
	if (!copy || !e->u.class_load_hook.malloc_f(100))
		return;
	memcpy(copy, data, (size_t)n);
	at = find(copy, n, "text before");
	memcpy(at, copy == own ? "text own   " : "text malloc", 11);
	e->u.class_load_hook.new_class_data = copy;
	hooked++;
}

static void hook_end(JNIEnv *env)
{
	(void)env;
	check("CLASS_LOAD_HOOK", hooked == 2, "%d of 2 classes", hooked);
}

static const jint hook_types[] = {JVMPI_EVENT_CLASS_LOAD_HOOK, 0};

const struct kind kind_hook = {.what = "hook", .types = hook_types, .seen = hook_seen, .end = hook_end};
