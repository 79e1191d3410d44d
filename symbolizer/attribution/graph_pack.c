#include "symbolizer/attribution/graph_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How far graph_find() and graph_offset() go from instruction to instruction. */
enum { START_EVERY = 32 };

/* The functions that write an array return its length; `ret` NULL: they only count. */
static uint32_t pack_starts(const struct graph_build *b, struct insn_start *ret)
{
	uint32_t n = 0, last = 0;

	for (uint32_t i = 0; i < b->n_insns; i++) {
		const struct build_insn *in = &b->insns[i];

		if (i > 0 && i - last < START_EVERY && in->off == in[-1].off + in[-1].len)
			continue;
		if (ret)
			ret[n] = (struct insn_start){.insn = i, .off = in->off};
		last = i;
		n++;
	}
	return n;
}

static uint32_t pack_runs(const struct graph_build *b, struct loop_run *ret)
{
	int32_t last = -1;
	uint32_t n = 0;

	for (uint32_t i = 0; b->loops.n > 0 && i < b->n_insns; i++) {
		int32_t loop = b->insns[i].loop;

		if (loop < 0 || loop == last)
			continue;
		if (ret)
			ret[n] = (struct loop_run){.insn = i, .loop = loop};
		last = loop;
		n++;
	}
	return n;
}

static bool is_moved(const struct evidence *e)
{
	return e->after.node != e->pos.node || e->after.bci != e->pos.bci;
}

static uint32_t count_moved(const struct graph_build *b)
{
	uint32_t n = 0;

	for (size_t i = 0; i < b->evidence.n; i++)
		n += is_moved(&b->evidence.v[i]);
	return n;
}

static void pack_evidence(const struct graph_build *b, struct evidence_at *ret, struct evidence_after *after)
{
	for (uint32_t i = 0; i < b->n_insns; i++) {
		const struct evidence *e;

		if (!(b->insns[i].flags & INSN_EVIDENCE))
			continue;
		e = &b->evidence.v[b->insns[i].evidence];
		*ret++ = (struct evidence_at){
			.insn = i,
			.kind = e->kind,
			.trap = e->trap,
			.at_call = e->at_call,
			.moved = is_moved(e),
			.site = (uint32_t)first_where(b->sites.n, k, b->sites.v[k] >= site_of_pos(e->pos)),
		};
		if (is_moved(e))
			*after++ = (struct evidence_after){.insn = i, .after = e->after};
	}
}

static void pack_insns(const struct graph_build *b, struct graph_insn *ret)
{
	for (uint32_t i = 0; i < b->n_insns; i++) {
		const struct build_insn *in = &b->insns[i];

		ret[i] = (struct graph_insn){.len = in->len, .class = in->class, .flags = (uint8_t)in->flags};
	}
}

/* Takes the next n elements of g's memory behind the struct; g NULL: only counts their bytes. */
static void *take(struct graph *g, size_t *bytes, size_t n, size_t size)
{
	void *ret = g ? (uint8_t *)g + *bytes : NULL;

	*bytes += n * size;
	return ret;
}

static void *take_copy(struct graph *g, size_t *bytes, size_t n, size_t size, const void *from)
{
	void *ret = take(g, bytes, n, size);

	if (ret && n)
		memcpy(ret, from, n * size);
	return ret;
}

/*
 * Fills the memory of a graph with the sizes in `head`, and returns their sum; g NULL: only that. Elements of 8 bytes
 * come first and those of 2 last, so that all are aligned.
 */
static size_t fill(const struct graph_build *b, struct graph head, struct graph *g)
{
	size_t bytes = sizeof(*g);
	struct insn_start *starts;
	struct evidence_at *evidence;
	struct evidence_after *after;
	struct loop_run *runs;
	struct graph_insn *insns;

	head.sites = take_copy(g, &bytes, head.n_sites, sizeof(*head.sites), b->sites.v);
	head.tree.nodes.v = take_copy(g, &bytes, head.tree.nodes.n, sizeof(*head.tree.nodes.v), b->tree.nodes.v);
	head.jumps = take_copy(g, &bytes, head.n_jumps, sizeof(*head.jumps), b->jumps.v);
	head.by_target = take_copy(g, &bytes, head.n_jumps, sizeof(*head.by_target), b->by_target);
	head.loops = take_copy(g, &bytes, head.n_loops, sizeof(*head.loops), b->loops.v);
	head.starts = starts = take(g, &bytes, head.n_starts, sizeof(*starts));
	head.evidence = evidence = take(g, &bytes, head.n_evidence, sizeof(*evidence));
	head.after = after = take(g, &bytes, head.n_after, sizeof(*after));
	head.runs = runs = take(g, &bytes, head.n_runs, sizeof(*runs));
	head.insns = insns = take(g, &bytes, head.n_insns, sizeof(*insns));
	if (!g)
		return bytes;
	pack_starts(b, starts);
	pack_evidence(b, evidence, after);
	pack_runs(b, runs);
	pack_insns(b, insns);
	head.bytes = bytes;
	*g = head;
	return bytes;
}

int graph_pack(const struct graph_build *b, struct graph **ret)
{
	struct graph head = {
		.tree.nodes = {.n = b->tree.nodes.n, .cap = b->tree.nodes.n},
		.n_insns = b->n_insns,
		.n_starts = pack_starts(b, NULL),
		.n_jumps = (uint32_t)b->jumps.n,
		.n_evidence = (uint32_t)b->evidence.n,
		.n_after = count_moved(b),
		.n_loops = (uint32_t)b->loops.n,
		.n_runs = pack_runs(b, NULL),
		.n_sites = (uint32_t)b->sites.n,
		.c1 = b->c1,
		.damaged = b->damaged,
	};
	struct graph *g = malloc(fill(b, head, NULL));

	if (!g)
		return -ENOMEM;
	fill(b, head, g);
	*ret = g;
	return 0;
}
