#include "jvm-bridge/host/thread.h"

#include <stdlib.h>

#include "jvm-bridge/host/base/registers.h"
#include "jvm-bridge/host/calls.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/gate.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/owner.h"
#include "jvm-bridge/host/refs.h"
#include "jvm-bridge/host/step.h"

enum { BUCKETS = 1024, BATCH = 64 };

struct retired {
	struct retired *next;
	jobject ref;
	struct thread *t;
};

static struct {
	struct thread *_Atomic buckets[BUCKETS];
	struct lock lock; /* guards insertion and what follows */
	struct retired *retired;
} table;

static struct thread *_Atomic *bucket_of(JNIEnv *env)
{
	uint64_t h = (uint64_t)(uintptr_t)env * 0x9e3779b97f4a7c15u;

	return &table.buckets[h >> 54];
}

struct thread *thread_find(JNIEnv *env)
{
	struct thread *t = env ? atomic_load(bucket_of(env)) : NULL;

	while (t && t->env != env)
		t = t->next;
	return t;
}

static struct thread *record_get(JNIEnv *env)
{
	struct thread *t = thread_find(env);

	if (t)
		return t;
	lock_take(&table.lock);
	t = thread_find(env);
	if (!t && (t = calloc(1, sizeof(*t)))) {
		t->env = env;
		t->next = atomic_load(bucket_of(env));
		atomic_store(bucket_of(env), t);
	}
	lock_drop(&table.lock);
	return t;
}

/* Takes references that no thread is using off the list, at most BATCH. */
static unsigned retired_take(jobject *dead)
{
	struct retired **at = &table.retired, *one;
	unsigned n = 0;

	lock_take(&table.lock);
	while ((one = *at) && n < BATCH) {
		if (atomic_load(&one->t->users)) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		dead[n++] = one->ref;
		free(one);
	}
	lock_drop(&table.lock);
	return n;
}

/* Deletes the reference if no thread is using it; otherwise a later thread's end does so. */
static void refs_retire(JNIEnv *env, struct thread *t, jobject ref)
{
	bool used = ref && atomic_load(&t->users);
	struct retired *one = used ? malloc(sizeof(*one)) : NULL;
	jobject dead[BATCH];
	unsigned n = retired_take(dead);

	while (n)
		ref_delete(env, dead[--n]);
	if (one) {
		*one = (struct retired){NULL, ref, t};
		lock_take(&table.lock);
		one->next = table.retired;
		table.retired = one;
		lock_drop(&table.lock);
	} else if (ref && !used) {
		ref_delete(env, ref);
	}
}

static void thread_reset(struct thread *t)
{
	definition_reset(&t->definition);
	atomic_store(&t->suspended, 0);
	atomic_store(&t->carrier, CARRIER_UNKNOWN);
	atomic_store(&t->cpu, 0);
	atomic_store(&t->sum, 0);
	atomic_store(&t->sum_before, 0);
	atomic_store(&t->tid, 0);
	for (unsigned i = 0; i < AGENTS_MAX; i++) {
		atomic_store(&t->tls[i], NULL);
		atomic_store(&t->gc_off[i], 0);
	}
	t->contended_owner = NULL;
	t->wait_began = 0;
	steps_done(t->steps);
	t->steps = NULL;
	calls_done(t->calls);
	t->calls = NULL;
	t->system = false;
}

struct thread *thread_add(JNIEnv *env, jthread thread)
{
	struct thread *t = record_get(env);
	jobject none = NULL, ref;

	if (!t || atomic_load(&t->ref))
		return t;
	ref = ref_new(bridge_env(), thread);
	if (!ref || !atomic_compare_exchange_strong(&t->ref, &none, ref))
		refs_retire(bridge_env(), t, ref);
	return t;
}

struct thread *thread_current(void)
{
	JNIEnv *env = bridge_env();
	struct thread *t = thread_find(env);
	jthread thread = NULL;

	if (!env || (t && atomic_load(&t->ref)))
		return t;
	if (!atomic_load(&the_bridge.live) || (*the_bridge.ti)->GetCurrentThread(the_bridge.ti, &thread) || !thread)
		return record_get(env);
	t = thread_add(env, thread);
	if (t)
		atomic_store(&t->tid, (uint32_t)syscall(SYS_gettid));
	(*env)->DeleteLocalRef(env, thread);
	return t;
}

jobject thread_object(struct thread *t, JNIEnv *env)
{
	jobject ref, local = NULL;

	atomic_fetch_add(&t->users, 1);
	ref = atomic_load(&t->ref);
	if (ref)
		local = (*env)->NewLocalRef(env, ref);
	atomic_fetch_sub(&t->users, 1);
	return local;
}

void thread_each(void (*f)(struct thread *t, void *arg), void *arg)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct thread *t = atomic_load(&table.buckets[i]); t; t = t->next)
			if (atomic_load(&t->ref))
				f(t, arg);
}

struct search {
	JNIEnv *env;
	jobject object;
	struct thread *found;
};

static void search_one(struct thread *t, void *arg)
{
	struct search *s = arg;
	jobject object = s->found ? NULL : thread_object(t, s->env);

	if (!object)
		return;
	if ((*s->env)->IsSameObject(s->env, object, s->object))
		s->found = t;
	(*s->env)->DeleteLocalRef(s->env, object);
}

struct thread *thread_of_object(jobject object, JNIEnv *env)
{
	struct search s = {env, object, NULL};

	thread_each(search_one, &s);
	return s.found;
}

struct thread *thread_of(struct object_id *id, JNIEnv *env)
{
	jobject object = id_object(env, id);
	struct thread *found = object ? thread_of_object(object, env) : NULL;

	if (object)
		(*env)->DeleteLocalRef(env, object);
	return found;
}

/*
 * JVMTI does not give the JNIEnv of another thread. It is inside the JavaThread, whose address is
 * java.lang.Thread.eetop (JDK 8 to 25), at the same distance in all threads.
 */
static jfieldID eetop_field(JNIEnv *env)
{
	jclass klass = (*env)->FindClass(env, "java/lang/Thread");
	jfieldID field = klass ? (*env)->GetFieldID(env, klass, "eetop", "J") : NULL;

	if ((*env)->ExceptionCheck(env)) {
		(*env)->ExceptionClear(env);
		return NULL;
	}
	(*env)->DeleteLocalRef(env, klass);
	return field;
}

static uint64_t envs_find(JNIEnv *env)
{
	jfieldID eetop = eetop_field(env);
	jthread self = NULL, *threads = NULL;
	jint n = 0;
	jlong own;

	if (!eetop || (*the_bridge.ti)->GetCurrentThread(the_bridge.ti, &self) || !self)
		return 0;
	own = (*env)->GetLongField(env, self, eetop);
	if (own)
		owners_init((uint64_t)(uintptr_t)env - (uint64_t)own);
	if (own && the_bridge.by_registers)
		registers_init((uint64_t)(uintptr_t)env - (uint64_t)own);
	(*env)->DeleteLocalRef(env, self);
	if (!own || (*the_bridge.ti)->GetAllThreads(the_bridge.ti, &n, &threads) ||
	    (*env)->EnsureLocalCapacity(env, 64)) /* besides JVMTI's own, as in class_report_all() */
		n = 0;
	for (jint i = 0; i < n; i++) {
		jlong other = (*env)->GetLongField(env, threads[i], eetop);

		if (other)
			thread_add((JNIEnv *)(uintptr_t)((uint64_t)other + ((uint64_t)(uintptr_t)env - (uint64_t)own)),
				   threads[i]);
		(*env)->DeleteLocalRef(env, threads[i]);
	}
	bridge_free(threads);
	return own ? (uint64_t)(uintptr_t)env - (uint64_t)own : 0;
}

uint64_t threads_find_existing(JNIEnv *env)
{
	uint64_t distance;

	if ((*env)->PushLocalFrame(env, 32)) {
		(*env)->ExceptionClear(env);
		return 0;
	}
	distance = envs_find(env);
	(*env)->PopLocalFrame(env, NULL);
	return distance;
}

struct thread_names {
	jvmtiThreadInfo info;
	jvmtiThreadGroupInfo group, parent;
};

static void group_names(struct thread_names *n, JNIEnv *env)
{
	jvmtiEnv *ti = the_bridge.ti;

	if (!n->info.thread_group)
		return;
	if (!(*ti)->GetThreadGroupInfo(ti, n->info.thread_group, &n->group) && n->group.parent) {
		if ((*ti)->GetThreadGroupInfo(ti, n->group.parent, &n->parent))
			n->parent.name = NULL;
		else if (n->parent.parent)
			(*env)->DeleteLocalRef(env, n->parent.parent);
		(*env)->DeleteLocalRef(env, n->group.parent);
	}
	(*env)->DeleteLocalRef(env, n->info.thread_group);
}

static void names_done(struct thread_names *n, JNIEnv *env)
{
	bridge_free(n->info.name);
	bridge_free(n->group.name);
	bridge_free(n->parent.name);
	if (n->info.context_class_loader)
		(*env)->DeleteLocalRef(env, n->info.context_class_loader);
}

/* A lean agent knows threads by their JNIEnv alone: it needs no id, and no names at the end. */
static bool thread_report(struct agent *a, struct thread *about, struct thread *t, jint type)
{
	JNIEnv *env = t->env;
	struct thread_names names = {0};
	JVMPI_Event e = {.event_type = type};
	bool sent;
	jobject object = a->lean && type == JVMPI_EVENT_THREAD_END ? NULL : thread_object(about, env);

	if (object && !(*the_bridge.ti)->GetThreadInfo(the_bridge.ti, object, &names.info))
		group_names(&names, env);
	e.u.thread_start.thread_name = names.info.name ? names.info.name : (char *)"";
	e.u.thread_start.group_name = names.group.name ? names.group.name : (char *)"";
	e.u.thread_start.parent_name = names.parent.name;
	e.u.thread_start.thread_id = a->lean ? NULL : (jobjectID)id_of(t, env, object, ID_OBJECT);
	e.u.thread_start.thread_env_id = about->env;
	sent = event_send(a, t, &e, (type & ~JVMPI_REQUESTED_EVENT) == JVMPI_EVENT_THREAD_START ? GC_NOT : GC_MAY);
	names_done(&names, env);
	if (object)
		(*env)->DeleteLocalRef(env, object);
	return sent;
}

void thread_announce(struct agent *a, struct thread *about, struct thread *t, jint requested)
{
	bool first, sent;

	if ((!requested && !agent_wants(a, JVMPI_EVENT_THREAD_START)) || !atomic_load(&about->ref))
		return;
	first = definition_begin(&about->definition, a, t);
	if (!first && !requested)
		return;
	sent = thread_report(a, about, t, JVMPI_EVENT_THREAD_START | requested);
	if (first)
		definition_end(&about->definition, a, sent);
}

struct announcement {
	struct agent *a;
	struct thread *t;
	jint requested;
};

static void announce_one(struct thread *about, void *arg)
{
	struct announcement *n = arg;

	thread_announce(n->a, about, n->t, n->requested);
}

void threads_announce(struct agent *a, struct thread *t, jint requested)
{
	thread_each(announce_one, &(struct announcement){a, t, requested});
}

/* A thread that ended while threads_find_existing() looked at it may have left its record to this one. */
static void thread_renew(JNIEnv *env, jthread thread)
{
	struct thread *t = thread_find(env);
	jobject ref = t ? atomic_load(&t->ref) : NULL;

	if (!ref || (*env)->IsSameObject(env, ref, thread))
		return;
	refs_retire(env, t, atomic_exchange(&t->ref, NULL));
	thread_reset(t);
}

void JNICALL on_thread_start(jvmtiEnv *ti, JNIEnv *env, jthread thread)
{
	struct thread *t;
	unsigned n = atomic_load(&the_bridge.n_agents);

	(void)ti;
	if (atomic_load(&the_bridge.dead) || !atomic_load(&the_bridge.live))
		return;
	thread_renew(env, thread);
	t = thread_add(env, thread);
	if (!t)
		return;
	atomic_store(&t->tid, (uint32_t)syscall(SYS_gettid));
	for (unsigned i = 0; i < n; i++)
		if (the_bridge.agents[i].started)
			thread_announce(&the_bridge.agents[i], t, t, 0);
}

void JNICALL on_thread_end(jvmtiEnv *ti, JNIEnv *env, jthread thread)
{
	struct thread *t = thread_find(env);
	unsigned n = atomic_load(&the_bridge.n_agents);
	jobject ref;

	(void)ti, (void)thread;
	if (!t || atomic_load(&the_bridge.dead))
		return;
	for (unsigned i = 0; i < n; i++) {
		struct agent *a = &the_bridge.agents[i];

		definition_wait(&t->definition, a, t);
		if (agent_wants(a, JVMPI_EVENT_THREAD_END) && a->started)
			thread_report(a, t, t, JVMPI_EVENT_THREAD_END);
	}
	gc_enable_all(t);
	/* A thread suspended from now on could not be resumed, because its resumer finds it by this reference. */
	steady_lock(t);
	ref = atomic_exchange(&t->ref, NULL);
	steady_unlock();
	refs_retire(env, t, ref);
	thread_reset(t);
}
