#include "jvm-bridge/stream/events.h"

#include <stdlib.h>

#include "jvm-bridge/base/futex.h"

static void class_put(struct sink *s, struct record *r, const JVMPI_Event *e, unsigned flags)
{
	jint n = e->u.class_load.num_methods;
	jlong *addresses = n > 0 ? calloc((size_t)n, sizeof(*addresses)) : NULL;
	JVMPI_JS_Addresses ask = {n, e->u.class_load.methods, addresses};
	bool known = addresses && s->pi->RequestEvent(JVMPI_EVENT_JS_ADDRESSES, &ask) == JVMPI_SUCCESS;
	bool made = record_class(r, e, known ? addresses : NULL, flags);

	free(addresses);
	if (!made || !s->put(r, e->env_id))
		return;
	for (jint i = 0; i < e->u.class_load.num_methods; i++)
		sent_methods_add(&s->sent_methods, e->u.class_load.methods[i].method_id);
}

static void method_put(struct sink *s, struct record *r, const JVMPI_Event *e)
{
	JVMPI_Method m = {.method_id = e->u.js_method.method_id};
	jlong address = 0;
	JVMPI_JS_Addresses ask = {1, &m, &address};

	if (s->pi->RequestEvent(JVMPI_EVENT_JS_ADDRESSES, &ask) != JVMPI_SUCCESS)
		address = 0;
	if (record_method(r, e, address) && s->put(r, e->env_id))
		sent_methods_add(&s->sent_methods, e->u.js_method.method_id);
}

static void method_name(struct sink *s, struct record *r, const JVMPI_Event *e, jmethodID method)
{
	char nothing[] = "";
	JVMPI_Event none = {.env_id = e->env_id};

	/* The reply comes through stream_notify(). */
	if (sent_methods_has(&s->sent_methods, method) ||
	    s->pi->RequestEvent(JVMPI_EVENT_JS_METHOD, method) == JVMPI_SUCCESS)
		return;
	none.u.js_method.method_id = method;
	none.u.js_method.class_name = none.u.js_method.method_name = none.u.js_method.method_signature = nothing;
	none.u.js_method.start_lineno = none.u.js_method.end_lineno = -1;
	method_put(s, r, &none);
}

static void code_put(struct sink *s, struct record *r, const JVMPI_Event *e, unsigned flags)
{
	method_name(s, r, e, e->u.js_code.method_id);
	for (jint i = 0; i < e->u.js_code.num_scopes; i++)
		method_name(s, r, e, e->u.js_code.scopes[i].method_id);
	if (record_code(r, e, flags))
		s->put(r, e->env_id);
}

/* Only an event on the thread itself shows its kernel id; thread-local storage keeps it for replays. */
static uint32_t tid_of(const struct sink *s, const JVMPI_Event *e)
{
	bool start = (e->event_type & ~JVMPI_REQUESTED_EVENT) == JVMPI_EVENT_THREAD_START;
	JNIEnv *about = start ? e->u.thread_start.thread_env_id : e->env_id;

	if (about == e->env_id)
		s->pi->SetThreadLocalStorage(about, (void *)(uintptr_t)syscall(SYS_gettid));
	return (uint32_t)(uintptr_t)s->pi->GetThreadLocalStorage(about);
}

void event_put(struct sink *s, const JVMPI_Event *e)
{
	unsigned flags = e->event_type & JVMPI_REQUESTED_EVENT ? WIRE_REPLAYED : 0;
	struct record r = {0};
	bool made = false;

	switch (e->event_type & ~JVMPI_REQUESTED_EVENT) {
	case JVMPI_EVENT_CLASS_LOAD: class_put(s, &r, e, flags); break;
	case JVMPI_EVENT_JS_METHOD: method_put(s, &r, e); break;
	case JVMPI_EVENT_JS_CODE_LOAD: code_put(s, &r, e, flags); break;
	case JVMPI_EVENT_CLASS_UNLOAD:
		record_begin(&r, WIRE_CLASS_UNLOAD, 0);
		record_u64(&r, (uintptr_t)e->u.class_unload.class_id);
		made = record_end(&r);
		break;
	case JVMPI_EVENT_JS_CODE_UNLOAD: made = record_code_unload(&r, e); break;
	case JVMPI_EVENT_JS_DYNAMIC_CODE: made = record_dynamic_code(&r, e, flags); break;
	case JVMPI_EVENT_THREAD_START:
	case JVMPI_EVENT_THREAD_END: made = record_thread(&r, e, tid_of(s, e), flags); break;
	case JVMPI_EVENT_JS_GC_PAUSE:
		if (record_gc_pause(&r, e))
			s->put_later(&r, e->env_id);
		break;
	}
	if (made)
		s->put(&r, e->env_id);
	record_done(&r);
}
