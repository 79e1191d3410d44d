#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/hotspot/cstrs.h"
#include "symbolizer/hotspot/hs_private.h"

/*
 * The template interpreter: one StubQueue of codelets (JDK src/hotspot/share/code/stubs.hpp,
 * interpreter/interpreter.hpp). Its list never changes once the JVM runs.
 */
enum { INTERP_MAX = 4 << 20, CODELETS_MAX = 4096, HEAD_MAX = 256 };

struct queue {
	uint64_t start, limit, begin, end;
};

static bool queue_read(struct hotspot *hs, struct queue *ret)
{
	const struct hs_layout *l = &hs->l;
	uint64_t q;

	if (!hs_get(hs, 0, l->interpreter_code, &q) || !object_ok(q) ||
		!hs_get(hs, q, l->queue_buffer, &ret->start) ||
		!hs_get(hs, q, l->queue_limit, &ret->limit))
		return false;
	ret->begin = 0;
	ret->end = ret->limit;
	hs_get(hs, q, l->queue_begin, &ret->begin);
	hs_get(hs, q, l->queue_end, &ret->end);
	return addr_ok(ret->start) && ret->limit && ret->limit <= INTERP_MAX &&
		ret->begin <= ret->end && ret->end <= ret->limit;
}

/* Start, end and description's address of each codelet. Heads only: what is between them is a few
 * hundred KiB of code. */
static size_t codelets_walk(struct hotspot *hs, const struct queue *q, struct codelet *ret,
			    uint64_t *descriptions)
{
	const struct hs_layout *l = &hs->l;
	uint8_t head[HEAD_MAX];
	struct bytes b = {head, l->size.codelet};
	uint64_t at = q->begin, size;
	size_t n = 0;

	while (n < CODELETS_MAX && b.n <= sizeof(head) && at + b.n <= q->end &&
		mem_read(hs->mem, q->start + at, head, b.n)) {
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

static int codelets_read(struct hotspot *hs, const struct queue *q)
{
	uint64_t *at CLEANUP(free_at_exit) = calloc(CODELETS_MAX, sizeof(*at));
	const char **texts CLEANUP(free_at_exit) = calloc(CODELETS_MAX, sizeof(*texts));

	hs->codelets = calloc(CODELETS_MAX, sizeof(*hs->codelets));
	if (!at || !texts || !hs->codelets)
		return -ENOMEM;
	if (!hs->l.codelet_size.ok || !hs->l.size.codelet)
		return 0;
	hs->n_codelets = codelets_walk(hs, q, hs->codelets, at);
	cstrs_read(hs->mem, at, hs->n_codelets, &hs->arena, texts);
	for (size_t i = 0; i < hs->n_codelets; i++) {
		hs->codelets[i].description = texts[i] && texts[i][0] ? texts[i] : "Interpreter";
		hs->codelets[i].role = role_of(hs->codelets[i].description);
	}
	return 0;
}

int interpreter_read(struct hotspot *hs)
{
	struct queue q;

	if (!queue_read(hs, &q))
		return -EAGAIN;
	hs->interp_start = q.start;
	hs->interp_end = q.start + q.limit;
	return codelets_read(hs, &q);
}

static const struct codelet *codelet_at(const struct hotspot *hs, uint64_t pc)
{
	size_t lo = 0, hi = hs->n_codelets;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (hs->codelets[mid].end > pc)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < hs->n_codelets && hs->codelets[lo].start <= pc ? &hs->codelets[lo] : NULL;
}

const char *codelet_description(const struct hotspot *hs, uint64_t pc)
{
	const struct codelet *c = codelet_at(hs, pc);

	return c ? c->description : NULL;
}

enum stub_role hs_codelet_role(const struct hotspot *hs, uint64_t pc)
{
	const struct codelet *c = codelet_at(hs, pc);

	return c ? c->role : STUB_OTHER;
}
