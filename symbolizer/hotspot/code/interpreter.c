#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/hotspot/code/code_cache.h"
#include "symbolizer/hotspot/reader/cstrs.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"

/*
 * The template interpreter: one StubQueue of codelets (JDK src/hotspot/share/code/stubs.hpp,
 * interpreter/interpreter.hpp). It never changes once the JVM runs.
 */
enum { INTERP_MAX = 4 << 20, CODELETS_MAX = 4096, HEAD_MAX = 256 };

struct queue {
	uint64_t start, limit, begin, end;
};

static bool queue_read(struct jvm *jvm, struct queue *ret)
{
	const struct hs_layout *l = &jvm->l;
	uint64_t q;

	if (!jvm_get(jvm, 0, l->interpreter_code, &q) || !object_ok(q) ||
	    !jvm_get(jvm, q, l->queue_buffer, &ret->start) || !jvm_get(jvm, q, l->queue_limit, &ret->limit))
		return false;
	ret->begin = 0;
	ret->end = ret->limit;
	jvm_get(jvm, q, l->queue_begin, &ret->begin);
	jvm_get(jvm, q, l->queue_end, &ret->end);
	return addr_ok(ret->start) && ret->limit && ret->limit <= INTERP_MAX && ret->begin <= ret->end &&
	       ret->end <= ret->limit;
}

/*
 * Reads start, end and the description's address of each codelet. The code between these headers, a few hundred KiB, is
 * not read.
 */
static size_t codelets_walk(struct jvm *jvm, const struct queue *q, struct codelet *ret, uint64_t *descriptions)
{
	const struct hs_layout *l = &jvm->l;
	uint8_t head[HEAD_MAX];
	struct bytes b = {head, l->size.codelet};
	uint64_t at = q->begin, size;
	size_t n = 0;

	while (n < CODELETS_MAX && b.n <= sizeof(head) && at + b.n <= q->end &&
	       mem_read(jvm->mem, q->start + at, head, b.n)) {
		size = bytes_get(b, l->codelet_size);
		if (size < b.n || size > q->end - at)
			break;
		ret[n].start = q->start + at;
		ret[n].end = ret[n].start + size;
		descriptions[n++] = bytes_get(b, l->codelet_description);
		at += size;
	}
	return n;
}

static enum stub_role role_of(const char *description)
{
	if (strstr(description, "method entry point"))
		return STUB_METHOD_ENTRY;
	return strstr(description, "deoptimization entry") ? STUB_DEOPT_ENTRY : STUB_OTHER;
}

static void shrink_codelets(struct interpreter *interp)
{
	struct codelet *v = realloc(interp->codelets, interp->n * sizeof(*v));

	interp->codelets = v ? v : interp->codelets;
}

static int codelets_read(struct code_cache *cache, const struct queue *q)
{
	struct interpreter *interp = &cache->interpreter;
	uint64_t *at CLEANUP(free_at_exit) = calloc(CODELETS_MAX, sizeof(*at));
	const char **texts CLEANUP(free_at_exit) = calloc(CODELETS_MAX, sizeof(*texts));

	interp->codelets = calloc(CODELETS_MAX, sizeof(*interp->codelets));
	if (!at || !texts || !interp->codelets)
		return -ENOMEM;
	if (!cache->jvm->l.codelet_size.ok || !cache->jvm->l.size.codelet)
		return 0;
	interp->n = codelets_walk(cache->jvm, q, interp->codelets, at);
	if (interp->n)
		shrink_codelets(interp);
	cstrs_read(cache->jvm->mem, at, interp->n, &cache->jvm->arena, texts);
	for (size_t i = 0; i < interp->n; i++) {
		interp->codelets[i].description = texts[i] && texts[i][0] ? texts[i] : "Interpreter";
		interp->codelets[i].role = role_of(interp->codelets[i].description);
	}
	return 0;
}

int interpreter_read(struct code_cache *cache)
{
	struct interpreter *interp = &cache->interpreter;
	struct queue q;

	if (!queue_read(cache->jvm, &q))
		return -EAGAIN;
	interp->start = q.start;
	interp->end = q.start + q.limit;
	return codelets_read(cache, &q);
}

static const struct codelet *codelet_at(const struct code_cache *cache, uint64_t pc)
{
	const struct interpreter *interp = &cache->interpreter;
	size_t i = first_above(interp->codelets, interp->n, end, pc);

	return i < interp->n && interp->codelets[i].start <= pc ? &interp->codelets[i] : NULL;
}

const char *codelet_description(const struct code_cache *cache, uint64_t pc)
{
	const struct codelet *c = codelet_at(cache, pc);

	return c ? c->description : NULL;
}

enum stub_role hs_codelet_role(const struct hotspot *hs, uint64_t pc)
{
	const struct codelet *c = codelet_at(hs->cache, pc);

	return c ? c->role : STUB_OTHER;
}

bool hs_in_interpreter(const struct hotspot *hs, uint64_t pc)
{
	const struct interpreter *i = &hs->cache->interpreter;

	return pc >= i->start && pc < i->end;
}
