#include "jvm-bridge/hprof/tables/threads.h"

#include <string.h>

static struct {
	struct map by_env;
	uint32_t last;
} threads = {.last = THREAD_UNKNOWN};

static uint64_t hash_of(JNIEnv *env)
{
	return map_mix(0, (uint64_t)(uintptr_t)env);
}

static void thread_free(struct java_thread *t)
{
	if (!t)
		return;
	free(t->name);
	free(t->group);
	free(t->parent);
	free(t);
}

/* Names are printed in quotes on one line. */
static char *name_copy(const char *name)
{
	char *copy = strdup(name ? name : "");

	for (char *c = copy; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == '"')
			*c = '?';
	return copy;
}

struct java_thread *thread_of(JNIEnv *env)
{
	struct link *l = map_first(&threads.by_env, hash_of(env));

	while (l && ((struct java_thread *)l)->env != env)
		l = map_next(l);
	return (struct java_thread *)l;
}

struct java_thread *thread_started(const JVMPI_Event *e)
{
	JNIEnv *env = e->u.thread_start.thread_env_id;
	struct java_thread *t;

	if (thread_of(env))
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->env = env;
	t->object = e->u.thread_start.thread_id;
	t->name = name_copy(e->u.thread_start.thread_name);
	t->group = name_copy(e->u.thread_start.group_name);
	t->parent = name_copy(e->u.thread_start.parent_name);
	if (!t->name || !t->group || !t->parent || !map_add(&threads.by_env, &t->link, hash_of(env))) {
		thread_free(t);
		return NULL;
	}
	t->serial = ++threads.last;
	return t;
}

uint32_t thread_serial(JNIEnv *env)
{
	struct java_thread *t = thread_of(env);

	return t ? t->serial : THREAD_UNKNOWN;
}

uint32_t thread_ended(JNIEnv *env)
{
	struct java_thread *t = thread_of(env);
	uint32_t serial = t ? t->serial : 0;

	if (t)
		map_remove(&threads.by_env, &t->link);
	thread_free(t);
	return serial;
}

void threads_each(void (*f)(struct java_thread *t, void *arg), void *arg)
{
	for (size_t i = 0; i < threads.by_env.cap; i++)
		for (struct link *l = threads.by_env.heads[i]; l; l = l->next)
			f((struct java_thread *)l, arg);
}

size_t threads_list(JNIEnv ***at, size_t *cap, JNIEnv *except)
{
	size_t n = 0;

	if (*cap < threads.by_env.n) {
		JNIEnv **grown = realloc(*at, threads.by_env.n * 2 * sizeof(*grown));

		if (grown) {
			*at = grown;
			*cap = threads.by_env.n * 2;
		}
	}
	for (size_t i = 0; i < threads.by_env.cap; i++)
		for (struct link *l = threads.by_env.heads[i]; l && n < *cap; l = l->next)
			if (((struct java_thread *)l)->env != except && !((struct java_thread *)l)->not_sampled)
				(*at)[n++] = ((struct java_thread *)l)->env;
	return n;
}
