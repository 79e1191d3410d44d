/* Compiled methods and generated code. */
#include <jvmti.h>
#include <jvmticmlr.h>
#include <string.h>

#include "jvm-bridge/host/base/pool.h"
#include "jvm-bridge/host/base/versions.h"
#include "jvm-bridge/host/classes/class.h"
#include "jvm-bridge/host/classes/code.h"
#include "jvm-bridge/host/classes/lines.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/thread.h"

enum { DEPTH_MAX = 1024, PCS_MAX = 1 << 20, METHODS = 1024 };

static uint64_t method_hash(jmethodID m)
{
	return (uint64_t)(uintptr_t)m * 0x9e3779b97f4a7c15u >> 40;
}

/* The events for one CompiledMethodLoad, built once for all agents. */
struct code {
	struct pool pool;
	jmethodID method;
	const void *addr;
	jint size;
	JVMPI_Lineno *lines; /* for COMPILED_METHOD_LOAD */
	jint n_lines;
	JVMPI_JS_Scope *scopes; /* for JS_CODE_LOAD */
	jint n_scopes, max_scopes;
	JVMPI_JS_Range *ranges;
	jint n_ranges;
	struct {
		jmethodID method;
		struct lines lines;
	} * methods; /* hash table */
};

static const struct lines *code_lines(struct code *c, jmethodID method)
{
	static const struct lines none = {NULL, -1};
	unsigned i = (unsigned)method_hash(method) % METHODS;

	if (!c->methods)
		return &none;
	for (unsigned k = 0; k < METHODS; k++, i = (i + 1) % METHODS) {
		if (c->methods[i].method == method)
			return &c->methods[i].lines;
		if (c->methods[i].method)
			continue;
		c->methods[i].method = method;
		lines_get(method, &c->methods[i].lines);
		return &c->methods[i].lines;
	}
	return &none;
}

static void code_done(struct code *c)
{
	for (unsigned i = 0; c->methods && i < METHODS; i++)
		if (c->methods[i].method)
			lines_done(&c->methods[i].lines);
	pool_done(&c->pool);
}

static void lines_fill(struct code *c, const jvmtiAddrLocationMap *map, jint n)
{
	c->lines = n > 0 ? pool_alloc(&c->pool, (size_t)n * sizeof(*c->lines)) : NULL;
	if (!c->lines)
		return;
	for (jint i = 0; i < n; i++)
		c->lines[i] = (JVMPI_Lineno){(jint)((uintptr_t)map[i].start_address - (uintptr_t)c->addr),
					     lines_find(code_lines(c, c->method), map[i].location)};
	c->n_lines = n;
}

/* The inlining record; NULL: none of a known version. */
static const jvmtiCompiledMethodLoadInlineRecord *inline_record(const void *info)
{
	const jvmtiCompiledMethodLoadRecordHeader *h = info;

	for (unsigned i = 0; h && i < 16; i++, h = h->next)
		if (h->kind == JVMTI_CMLR_INLINE_INFO && h->majorinfoversion == JVMTI_CMLR_MAJOR_VERSION)
			return (const jvmtiCompiledMethodLoadInlineRecord *)h;
	return NULL;
}

static jint scope_add(struct code *c, jint parent, jmethodID method, jint bci)
{
	if (c->n_scopes == c->max_scopes) {
		jint max = c->max_scopes ? c->max_scopes * 2 : 256;
		JVMPI_JS_Scope *more = pool_alloc(&c->pool, (size_t)max * sizeof(*more));

		if (!more)
			return -1;
		if (c->n_scopes)
			memcpy(more, c->scopes, (size_t)c->n_scopes * sizeof(*more));
		c->scopes = more;
		c->max_scopes = max;
	}
	c->scopes[c->n_scopes] = (JVMPI_JS_Scope){parent, bci, method, lines_find(code_lines(c, method), bci)};
	return c->n_scopes++;
}

/*
 * The scope of one record. Outer scopes shared with the previous record are reused. methods[0] is the innermost.
 * `path` holds the scope indices of the previous record, outermost first.
 */
static jint scope_of(struct code *c, const PCStackInfo *pc, jint *path, jint *depth)
{
	jint n = pc->numstackframes < DEPTH_MAX ? pc->numstackframes : DEPTH_MAX, level;
	bool same = true;

	for (level = 0; level < n; level++) {
		jint k = pc->numstackframes - 1 - level;
		jmethodID method = pc->methods[k];
		jint bci = pc->bcis[k];

		same = same && level < *depth && c->scopes[path[level]].method_id == method &&
		       c->scopes[path[level]].bci == bci;
		if (!same)
			path[level] = scope_add(c, level ? path[level - 1] : -1, method, bci);
		if (path[level] < 0)
			break;
	}
	*depth = level;
	return level ? path[level - 1] : -1;
}

static void range_add(struct code *c, jint end, jint scope)
{
	if (scope < 0 || end <= (c->n_ranges ? c->ranges[c->n_ranges - 1].end : 0))
		return;
	if (c->n_ranges && c->ranges[c->n_ranges - 1].scope == scope)
		c->ranges[c->n_ranges - 1].end = end;
	else
		c->ranges[c->n_ranges++] = (JVMPI_JS_Range){end, scope};
}

static void scopes_fill(struct code *c, const jvmtiCompiledMethodLoadInlineRecord *r)
{
	jint n = r->numpcs < PCS_MAX ? r->numpcs : PCS_MAX, depth = 0;
	jint *path = pool_alloc(&c->pool, DEPTH_MAX * sizeof(*path));

	c->ranges = n > 0 ? pool_alloc(&c->pool, (size_t)n * sizeof(*c->ranges)) : NULL;
	if (!path || !c->ranges)
		return;
	for (jint i = 0; i < n; i++) {
		jint scope = scope_of(c, &r->pcinfo[i], path, &depth);
		uintptr_t end = (uintptr_t)r->pcinfo[i].pc - (uintptr_t)c->addr;

		if (end <= (uintptr_t)c->size)
			range_add(c, (jint)end, scope);
	}
}

/* Without an inlining record: the method's own bytecodes, from the map. */
static void scopes_from_map(struct code *c, const jvmtiAddrLocationMap *map, jint n)
{
	c->ranges = n > 0 ? pool_alloc(&c->pool, (size_t)n * sizeof(*c->ranges)) : NULL;
	for (jint i = 0; c->ranges && i < n; i++)
		range_add(c, (jint)((uintptr_t)map[i].start_address - (uintptr_t)c->addr),
			  scope_add(c, -1, c->method, (jint)map[i].location));
}

static void code_fill(struct code *c, const jvmtiAddrLocationMap *map, jint n, const void *info)
{
	const jvmtiCompiledMethodLoadInlineRecord *r = inline_record(info);

	c->methods = pool_alloc(&c->pool, METHODS * sizeof(*c->methods));
	lines_fill(c, map, n);
	if (!any_agent_wants(JVMPI_EVENT_JS_CODE_LOAD))
		return;
	if (r)
		scopes_fill(c, r);
	else
		scopes_from_map(c, map, n);
}

static void code_send(const struct code *c, struct agent *a, struct thread *t, jint requested)
{
	JVMPI_Event e;

	if (agent_wants(a, JVMPI_EVENT_COMPILED_METHOD_LOAD)) {
		class_report_of_method(a, t, t->env, c->method);
		e = (JVMPI_Event){.event_type = JVMPI_EVENT_COMPILED_METHOD_LOAD | requested};
		e.u.compiled_method_load.method_id = c->method;
		e.u.compiled_method_load.code_addr = (void *)c->addr;
		e.u.compiled_method_load.code_size = c->size;
		e.u.compiled_method_load.lineno_table_size = c->n_lines;
		e.u.compiled_method_load.lineno_table = c->lines;
		event_send(a, t, &e, GC_MAY);
	}
	if (agent_wants(a, JVMPI_EVENT_JS_CODE_LOAD)) {
		e = (JVMPI_Event){.event_type = JVMPI_EVENT_JS_CODE_LOAD | requested};
		e.u.js_code.method_id = c->method;
		e.u.js_code.code_addr = (void *)c->addr;
		e.u.js_code.code_size = c->size;
		e.u.js_code.num_scopes = c->n_scopes;
		e.u.js_code.scopes = c->scopes;
		e.u.js_code.num_ranges = c->n_ranges;
		e.u.js_code.ranges = c->ranges;
		event_send(a, t, &e, GC_MAY);
	}
}

/* Events go to the agent that requested them on this thread, otherwise to all. */
static bool agent_gets_event(const struct thread *t, const struct agent *a)
{
	return t->asks ? t->asks == a : a->started;
}

static bool wants_code(const struct agent *a)
{
	return agent_wants(a, JVMPI_EVENT_JS_CODE_LOAD) || agent_wants(a, JVMPI_EVENT_COMPILED_METHOD_LOAD);
}

void JNICALL on_code_load(jvmtiEnv *ti, jmethodID method, jint size, const void *addr, jint map_length,
			  const jvmtiAddrLocationMap *map, const void *info)
{
	struct thread *t = thread_current();
	unsigned n = atomic_load(&the_bridge.n_agents);
	struct code c = {.method = method, .addr = addr, .size = size};

	(void)ti;
	if (!t || atomic_load(&the_bridge.dead) || (t->asks && !wants_code(t->asks)))
		return;
	versions_add(method, addr);
	code_fill(&c, map, map ? map_length : 0, info);
	for (unsigned i = 0; i < n; i++)
		if (agent_gets_event(t, &the_bridge.agents[i]))
			code_send(&c, &the_bridge.agents[i], t, t->asks ? t->asks_as : 0);
	code_done(&c);
}

void JNICALL on_code_unload(jvmtiEnv *ti, jmethodID method, const void *addr)
{
	struct thread *t = thread_current();
	JVMPI_Event e = {.event_type = JVMPI_EVENT_JS_CODE_UNLOAD};

	(void)ti;
	if (atomic_load(&the_bridge.dead))
		return;
	e.u.js_code.method_id = method;
	e.u.js_code.code_addr = (void *)addr;
	event_send_all(t, &e, GC_MAY);
	if (!versions_drop(method, addr))
		return;
	e = (JVMPI_Event){.event_type = JVMPI_EVENT_COMPILED_METHOD_UNLOAD};
	e.u.compiled_method_unload.method_id = method;
	event_send_all(t, &e, GC_MAY);
}

void JNICALL on_dynamic_code(jvmtiEnv *ti, const char *name, const void *addr, jint length)
{
	struct thread *t = thread_current();
	unsigned n = atomic_load(&the_bridge.n_agents);
	JVMPI_Event e = {0};

	(void)ti;
	e.u.js_dynamic_code.name = (char *)name;
	e.u.js_dynamic_code.code_addr = (void *)addr;
	e.u.js_dynamic_code.code_size = length;
	for (unsigned i = 0; i < n; i++) {
		struct agent *a = &the_bridge.agents[i];

		if (!agent_wants(a, JVMPI_EVENT_JS_DYNAMIC_CODE) || (t && !agent_gets_event(t, a)))
			continue;
		e.event_type = JVMPI_EVENT_JS_DYNAMIC_CODE | (t && t->asks ? t->asks_as : 0);
		event_send(a, t, &e, GC_MAY);
	}
}

void code_report_all(struct agent *a, struct thread *t, jint requested)
{
	jvmtiEnv *ti = the_bridge.ti;

	t->asks = a;
	t->asks_as = requested;
	if (agent_wants(a, JVMPI_EVENT_JS_DYNAMIC_CODE))
		(*ti)->GenerateEvents(ti, JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
	if (wants_code(a))
		(*ti)->GenerateEvents(ti, JVMTI_EVENT_COMPILED_METHOD_LOAD);
	t->asks = NULL;
}
