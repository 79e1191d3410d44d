#include "jvm-bridge/stream/record.h"

#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/base/futex.h"

static void *record_room(struct record *r, size_t n)
{
	if (r->full || n > WIRE_RECORD_MAX || r->len + n > WIRE_RECORD_MAX - 8) {
		r->full = true;
		return NULL;
	}
	if (r->len + n > r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 1024;
		void *more;

		while (cap < r->len + n)
			cap *= 2;
		more = realloc(r->data, cap);
		if (!more) {
			r->full = true;
			return NULL;
		}
		r->data = more;
		r->cap = cap;
	}
	r->len += n;
	return r->data + r->len - n;
}

/* Little-endian, like the processors it runs on. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the encoder copies");

static void record_bytes(struct record *r, const void *p, size_t n)
{
	void *at = record_room(r, n);

	if (at && n)
		memcpy(at, p, n);
}

void record_u16(struct record *r, uint16_t v)
{
	record_bytes(r, &v, sizeof(v));
}

void record_u32(struct record *r, uint32_t v)
{
	record_bytes(r, &v, sizeof(v));
}

void record_u64(struct record *r, uint64_t v)
{
	record_bytes(r, &v, sizeof(v));
}

void record_begin(struct record *r, enum wire_type type, unsigned flags)
{
	r->len = 0;
	r->full = false;
	record_u32(r, 0);
	record_u16(r, (uint16_t)type);
	record_u16(r, (uint16_t)flags);
	record_u64(r, clock_ns(CLOCK_MONOTONIC));
}

void record_str(struct record *r, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	if (n >= WIRE_NULL)
		n = WIRE_NULL - 1;
	record_u16(r, s ? (uint16_t)n : WIRE_NULL);
	record_bytes(r, s, n);
}

void record_class_name(struct record *r, const char *s)
{
	size_t at = r->len + 2;

	record_str(r, s);
	for (; !r->full && at < r->len; at++)
		r->data[at] = r->data[at] == '.' ? '/' : r->data[at] == '/' ? '+' : r->data[at];
}

bool record_end(struct record *r)
{
	static const char zeros[8];
	uint32_t size;

	if (r->full)
		return false;
	record_bytes(r, zeros, (8 - r->len % 8) % 8);
	size = (uint32_t)r->len;
	if (!r->full)
		memcpy(r->data, &size, sizeof(size));
	return !r->full;
}

void record_done(struct record *r)
{
	free(r->data);
	*r = (struct record){0};
}

static void patch(struct record *r, size_t at, const void *v, size_t n)
{
	if (at + n <= r->len)
		memcpy(r->data + at, v, n);
}

static void truncated(struct record *r, size_t len)
{
	uint16_t flags;

	r->len = len;
	r->full = false;
	memcpy(&flags, r->data + 6, sizeof(flags));
	flags |= WIRE_TRUNCATED;
	memcpy(r->data + 6, &flags, sizeof(flags));
}

static void addresses_add(struct record *r, const jlong *addresses, uint32_t n)
{
	size_t len = r->len;

	record_u32(r, addresses ? n : 0);
	for (uint32_t i = 0; i < n && addresses; i++)
		record_u64(r, (uint64_t)addresses[i]);
	if (r->full)
		truncated(r, len);
}

bool record_class(struct record *r, const JVMPI_Event *e, const jlong *addresses, unsigned flags)
{
	uint32_t n = 0;
	size_t count;

	record_begin(r, WIRE_CLASS_LOAD, flags);
	record_u64(r, (uintptr_t)e->u.class_load.class_id);
	record_u64(r, 0);
	record_class_name(r, e->u.class_load.class_name);
	record_str(r, e->u.class_load.source_name);
	count = r->len;
	record_u32(r, 0);
	if (r->full)
		return false;
	for (; n < (uint32_t)e->u.class_load.num_methods; n++) {
		const JVMPI_Method *m = &e->u.class_load.methods[n];
		size_t len = r->len;

		record_u64(r, (uintptr_t)m->method_id);
		record_u32(r, (uint32_t)m->start_lineno);
		record_u32(r, (uint32_t)m->end_lineno);
		record_str(r, m->method_name);
		record_str(r, m->method_signature);
		if (r->full) {
			truncated(r, len);
			break;
		}
	}
	patch(r, count, &n, sizeof(n));
	addresses_add(r, addresses, n);
	return record_end(r);
}

bool record_method(struct record *r, const JVMPI_Event *e, jlong address)
{
	record_begin(r, WIRE_METHOD, 0);
	record_u64(r, (uintptr_t)e->u.js_method.method_id);
	record_u64(r, 0);
	record_u32(r, (uint32_t)e->u.js_method.start_lineno);
	record_u32(r, (uint32_t)e->u.js_method.end_lineno);
	record_class_name(r, e->u.js_method.class_name);
	record_str(r, e->u.js_method.source_name);
	record_str(r, e->u.js_method.method_name);
	record_str(r, e->u.js_method.method_signature);
	record_u64(r, (uint64_t)address);
	return record_end(r);
}

/* Index of a scope's method in the record: a small hash table of those already there. */
struct method_table {
	jmethodID *list;
	uint32_t *hash, n, mask;
};

static bool methods_init(struct method_table *t, jint scopes)
{
	uint32_t size = 16;

	while (size < (uint32_t)scopes * 2)
		size *= 2;
	t->list = calloc((size_t)scopes + 1, sizeof(*t->list));
	t->hash = calloc(size, sizeof(*t->hash));
	t->mask = size - 1;
	return t->list && t->hash;
}

static uint32_t method_index(struct method_table *t, jmethodID m)
{
	uint32_t i = (uint32_t)((uintptr_t)m * 0x9e3779b97f4a7c15u >> 32) & t->mask;

	for (; t->hash[i]; i = (i + 1) & t->mask)
		if (t->list[t->hash[i] - 1] == m)
			return t->hash[i] - 1;
	t->list[t->n++] = m;
	t->hash[i] = t->n;
	return t->n - 1;
}

static void code_body(struct record *r, const JVMPI_Event *e, struct method_table *t)
{
	const JVMPI_JS_Scope *scopes = e->u.js_code.scopes;
	jint n_scopes = e->u.js_code.num_scopes;

	for (jint i = 0; i < n_scopes; i++)
		method_index(t, scopes[i].method_id);
	record_u64(r, (uintptr_t)e->u.js_code.code_addr);
	record_u64(r, (uintptr_t)e->u.js_code.method_id);
	record_u32(r, (uint32_t)e->u.js_code.code_size);
	record_u32(r, t->n);
	record_u32(r, (uint32_t)n_scopes);
	record_u32(r, (uint32_t)e->u.js_code.num_ranges);
	for (uint32_t i = 0; i < t->n; i++)
		record_u64(r, (uintptr_t)t->list[i]);
	for (jint i = 0; i < n_scopes; i++) {
		record_u32(r, scopes[i].parent < 0 ? WIRE_NONE : (uint32_t)scopes[i].parent);
		record_u32(r, method_index(t, scopes[i].method_id));
		record_u32(r, (uint32_t)scopes[i].bci);
		record_u32(r, (uint32_t)scopes[i].lineno);
	}
	for (jint i = 0; i < e->u.js_code.num_ranges; i++) {
		record_u32(r, (uint32_t)e->u.js_code.ranges[i].end);
		record_u32(r, (uint32_t)e->u.js_code.ranges[i].scope);
	}
}

/* A record that is too large is cut to its first ranges and their scopes. */
static void code_cut(JVMPI_Event *e, jint ranges)
{
	jint scopes = 0;

	for (jint i = 0; i < ranges; i++)
		if (e->u.js_code.ranges[i].scope >= scopes)
			scopes = e->u.js_code.ranges[i].scope + 1;
	e->u.js_code.num_ranges = ranges;
	e->u.js_code.num_scopes = scopes;
}

bool record_code(struct record *r, const JVMPI_Event *event, unsigned flags)
{
	JVMPI_Event e = *event;

	for (;;) {
		struct method_table t = {0};
		bool memory = methods_init(&t, e.u.js_code.num_scopes);

		record_begin(r, WIRE_CODE_LOAD, flags);
		if (memory)
			code_body(r, &e, &t);
		free(t.list);
		free(t.hash);
		if (memory && record_end(r))
			return true;
		if (!memory || !e.u.js_code.num_ranges)
			return false;
		code_cut(&e, e.u.js_code.num_ranges / 2);
		flags |= WIRE_TRUNCATED;
	}
}

bool record_code_unload(struct record *r, const JVMPI_Event *e)
{
	record_begin(r, WIRE_CODE_UNLOAD, 0);
	record_u64(r, (uintptr_t)e->u.js_code.code_addr);
	record_u64(r, (uintptr_t)e->u.js_code.method_id);
	return record_end(r);
}

bool record_dynamic_code(struct record *r, const JVMPI_Event *e, unsigned flags)
{
	record_begin(r, WIRE_DYNAMIC_CODE, flags);
	record_u64(r, (uintptr_t)e->u.js_dynamic_code.code_addr);
	record_u32(r, (uint32_t)e->u.js_dynamic_code.code_size);
	record_u32(r, 0);
	record_str(r, e->u.js_dynamic_code.name);
	return record_end(r);
}

bool record_thread(struct record *r, const JVMPI_Event *e, uint32_t tid, unsigned flags)
{
	bool start = (e->event_type & ~JVMPI_REQUESTED_EVENT) == JVMPI_EVENT_THREAD_START;
	JNIEnv *about = start ? e->u.thread_start.thread_env_id : e->env_id;

	record_begin(r, start ? WIRE_THREAD_START : WIRE_THREAD_END, flags);
	record_u64(r, (uintptr_t)about);
	record_u32(r, tid);
	record_u32(r, 0);
	if (start) {
		record_str(r, e->u.thread_start.thread_name);
		record_str(r, e->u.thread_start.group_name);
		record_str(r, e->u.thread_start.parent_name);
	}
	return record_end(r);
}

bool record_gc_pause(struct record *r, const JVMPI_Event *e)
{
	record_begin(r, WIRE_GC_PAUSE, 0);
	record_u64(r, (uint64_t)e->u.js_gc_pause.begin);
	record_u64(r, (uint64_t)e->u.js_gc_pause.end);
	return record_end(r);
}
