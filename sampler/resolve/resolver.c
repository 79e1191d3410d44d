#include "sampler/resolve/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/model/raw_sample.h"
#include "sampler/profile/profile.h"
#include "sampler/resolve/namer.h"
#include "symbolizer/attribution/exactness.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/native/modules/modmap.h"

/* A root can be as long as the longest thread name that is read. */
enum { MAX_ROOTS = 3, ROOT_NAME = 3 * 4096, ROOT_TEXT = ROOT_NAME + 64 };

struct resolve_run {
	const struct profile *p;
	struct namer n;
	struct named_frame *frames; /* by frame number; location 0: not named yet */
	uint32_t *stacks; /* by stack number, if roots do not depend on the sample; otherwise UINT32_MAX */
	bool *cut; /* by stack number: deeper than resolver_options.depth once inlined frames are named */
	uint32_t *at; /* locations of the current stack */
	size_t at_cap;
	uint32_t kernel; /* location of [kernel] */
	uint64_t unnamed;
};

static struct named_frame name_mark(struct namer *n, enum frame_mark mark)
{
	const char *text = frame_mark_text(mark);

	if (mark == MARK_KERNEL)
		return namer_plain(n, "[kernel]", NAMED_KERNEL, "[kernel]");
	return text ? namer_plain(n, text, NAMED_MARK, NULL) : namer_unknown(n);
}

static struct named_frame name_virtual(struct namer *n, uint32_t id)
{
	const char *name = n->s->virtual_name ? n->s->virtual_name(n->s->virtual_ctx, id) : "";
	char text[ROOT_TEXT];

	snprintf(text, sizeof(text), "[virtual%s%.*s]", *name ? " " : "", ROOT_NAME, name);
	return namer_plain(n, text, NAMED_MARK, NULL);
}

static struct named_frame name_key(struct namer *n, const struct frame_key *key)
{
	switch (key->kind) {
	case FRAME_KERNEL: return namer_kernel(n, key);
	case FRAME_NATIVE: return namer_native(n, key);
	case FRAME_ANON: return namer_anon(n, key);
	case FRAME_INTERPRETED: return namer_interpreted(n, key);
	case FRAME_COMPILED: return namer_compiled(n, key);
	case FRAME_STUB: return namer_stub(n, key);
	case FRAME_MARK:
		if (key->off == MARK_VIRTUAL)
			return name_virtual(n, key->id);
		return name_mark(n, (enum frame_mark)key->off);
	default: return namer_unknown(n);
	}
}

/* Native and compiled frames take long to name: files are parsed, control flow is followed. */
static struct named_frame name_cheaply(struct resolve_run *r, const struct frame_key *key)
{
	if (key->kind != FRAME_NATIVE && key->kind != FRAME_COMPILED)
		return name_key(&r->n, key);
	r->unnamed++;
	return key->kind == FRAME_NATIVE ? namer_module(&r->n, key) : namer_unknown(&r->n);
}

static const struct named_frame *frame_of(struct resolve_run *r, uint32_t number)
{
	struct named_frame *f = &r->frames[number];
	const atomic_bool *ends = r->n.o->ends;
	const struct frame_key *key = f->location ? NULL : profile_frame(r->p, number);

	if (key)
		*f = ends && atomic_load(ends) ? name_cheaply(r, key) : name_key(&r->n, key);
	return f;
}

/* A mark that describes the whole stack, added when it was counted. */
static bool is_root_mark(const struct frame_key *k)
{
	return k->kind == FRAME_MARK && (k->off == MARK_INCOMPLETE || k->off == MARK_RESYNCHRONISED ||
					 k->off == MARK_FROZEN || k->off == MARK_TRUNCATED);
}

static bool make_room(struct resolve_run *r, size_t room)
{
	uint32_t *at;

	if (room <= r->at_cap)
		return true;
	at = realloc(r->at, room * 2 * sizeof(*at));
	if (!at)
		return false;
	r->at = at;
	r->at_cap = room * 2;
	return true;
}

/* State of building a stack in r->at. */
struct placing {
	uint32_t n; /* locations */
	uint32_t left; /* frames that may still be added */
	bool cut;
};

/* Adds as much of a location as may be shown, then [truncated], once, in place of the rest. false: out of memory. */
static bool place(struct resolve_run *r, const struct frame_key *k, uint32_t location, struct placing *p)
{
	uint32_t lines = named_builder_lines(r->n.b, location);
	bool mark = is_root_mark(k);

	/* Consecutive [kernel] frames are shown as one. */
	if (location == r->kernel && p->n && r->at[p->n - 1] == location)
		return true;
	if (p->cut && (!mark || k->off == MARK_TRUNCATED))
		return true;
	if (mark || lines <= p->left) {
		p->left -= mark ? 0 : lines;
		r->at[p->n++] = location;
		return location != UINT32_MAX;
	}
	if (p->left)
		r->at[p->n++] = named_builder_innermost(r->n.b, location, p->left);
	r->at[p->n++] = name_mark(&r->n, MARK_TRUNCATED).location;
	p->cut = true;
	return r->at[p->n - 1] != UINT32_MAX && (!p->left || r->at[p->n - 2] != UINT32_MAX);
}

/* Puts the locations of a stack into r->at, with room for roots after them. */
static int locate(struct resolve_run *r, uint32_t stack, uint32_t *ret_n)
{
	struct stack_cursor c = profile_stack(r->p, stack);
	struct placing p = {.left = r->n.o->depth ? r->n.o->depth : UINT32_MAX};
	bool counted = false; /* already counted as truncated */
	uint32_t frame;

	if (!make_room(r, (size_t)c.left + 1 + MAX_ROOTS))
		return -ENOMEM;
	while (profile_next(&c, &frame)) {
		const struct frame_key *k = profile_frame(r->p, frame);

		counted |= k->kind == FRAME_MARK && k->off == MARK_TRUNCATED;
		if (!place(r, k, frame_of(r, frame)->location, &p))
			return -ENOMEM;
	}
	r->cut[stack] = p.cut && !counted;
	*ret_n = p.n;
	return 0;
}

static void thread_text(const char *name, int32_t tid, char *dst, size_t size)
{
	if (name && *name)
		snprintf(dst, size, "[%.*s tid=%d]", ROOT_NAME, name, tid);
	else
		snprintf(dst, size, "[tid=%d]", tid);
}

/* Adds roots after the n locations, innermost first: state, thread, process. */
static uint32_t add_roots(struct resolve_run *r, const struct profile_sample *s, const char *thread, uint32_t n)
{
	const struct resolver_options *o = r->n.o;
	char text[ROOT_TEXT];

	if (o->show.state_root) {
		snprintf(text, sizeof(text), "[%s]", thread_state_name(s->state));
		r->at[n++] = namer_plain(&r->n, text, NAMED_STATE, NULL).location;
	}
	if (o->show.thread_root && s->tid) {
		thread_text(thread, s->tid, text, sizeof(text));
		r->at[n++] = namer_plain(&r->n, text, NAMED_THREAD, NULL).location;
	}
	if (o->show.process_root) {
		snprintf(text, sizeof(text), "[%.*s pid=%d]", ROOT_NAME, o->process_name ? o->process_name : "?",
			 s->pid);
		r->at[n++] = namer_plain(&r->n, text, NAMED_PROCESS, NULL).location;
	}
	return n;
}

static bool has_roots(const struct resolver_options *o)
{
	return o->show.state_root || o->show.thread_root || o->show.process_root;
}

static int stack_of(struct resolve_run *r, const struct profile_sample *s, const char *thread, uint32_t *ret)
{
	bool cached = !has_roots(r->n.o);
	uint32_t n;
	int rc;

	if (cached && r->stacks[s->stack] != UINT32_MAX) {
		*ret = r->stacks[s->stack];
		return 0;
	}
	if ((rc = locate(r, s->stack, &n)))
		return rc;
	n = add_roots(r, s, thread, n);
	*ret = named_builder_stack(r->n.b, r->at, n);
	if (cached)
		r->stacks[s->stack] = *ret;
	return *ret == UINT32_MAX ? -ENOMEM : 0;
}

/*
 * Counts how exactly the innermost user frame was named, if it is compiled code. Kernel frames on
 * top of it (a page fault, an interrupt) leave its pc exact.
 */
static void count_exactness(struct resolve_run *r, const struct profile_sample *s)
{
	struct named_meta *m = named_builder_meta(r->n.b);
	struct stack_cursor c = profile_stack(r->p, s->stack);
	uint32_t frame;

	while (profile_next(&c, &frame)) {
		const struct frame_key *k = profile_frame(r->p, frame);
		uint8_t exactness = r->frames[frame].exactness;

		if (k->kind == FRAME_KERNEL || (k->kind == FRAME_MARK && k->off == MARK_KERNEL))
			continue;
		if (exactness < EXACTNESS_COUNT) {
			m->exactness[exactness] += s->count;
			m->no_record += exactness != EXACT ? s->count : 0;
		}
		return;
	}
}

static int name_sample(struct resolve_run *r, const struct profile_sample *s)
{
	const char *thread = s->tid ? profile_thread_name(r->p, s->pid, s->tid) : NULL;
	const struct resolver_options *o = r->n.o;
	struct named_sample out = {
		.count = s->count, .weight = s->weight, .pid = s->pid, .tid = s->tid, .slice = s->slice};
	int rc = stack_of(r, s, thread, &out.stack);

	if (rc)
		return rc;
	out.thread = named_builder_string(r->n.b, thread ? thread : "");
	if (o->states || o->show.state_root || s->state != THREAD_RUNNING)
		out.state = named_builder_string(r->n.b, thread_state_name(s->state));
	count_exactness(r, s);
	if (o->cut && r->cut[s->stack])
		*o->cut += s->count;
	return named_builder_sample(r->n.b, &out) == UINT32_MAX ? -ENOMEM : 0;
}

static uint32_t *unset(size_t n)
{
	uint32_t *v = malloc((n + 1) * sizeof(*v));

	if (v)
		memset(v, 0xff, (n + 1) * sizeof(*v));
	return v;
}

static int run_init(struct resolve_run *r)
{
	struct namer *n = &r->n;

	n->n_functions = n->s->hs ? hs_method_count(n->s->hs) + 1 : 0;
	n->n_mappings = n->s->maps ? modmap_dso_count(n->s->maps) + 1 : 0;
	n->functions = unset(n->n_functions);
	n->mappings = unset(n->n_mappings);
	r->stacks = unset(profile_stack_count(r->p));
	r->frames = calloc(profile_frame_count(r->p) + 1, sizeof(*r->frames));
	r->cut = calloc(profile_stack_count(r->p) + 1, sizeof(*r->cut));
	if (!n->functions || !n->mappings || !r->stacks || !r->frames || !r->cut)
		return -ENOMEM;
	namer_program(n);
	r->kernel = name_mark(n, MARK_KERNEL).location;
	return 0;
}

static void run_done(struct resolve_run *r)
{
	free(r->n.functions);
	free(r->n.mappings);
	buf_done(&r->n.name);
	buf_done(&r->n.system);
	free(r->stacks);
	free(r->cut);
	free(r->frames);
	free(r->at);
}

int resolver_name(const struct profile *p, const struct resolver_sources *s, const struct resolver_options *o,
		  struct named_builder *b, uint64_t *ret_unnamed)
{
	struct resolve_run r = {.p = p, .n = {.s = s, .o = o, .b = b}};
	int rc = run_init(&r);

	for (size_t i = 0; !rc && i < profile_sample_count(p); i++) {
		struct profile_sample sample = profile_sample(p, i);

		rc = name_sample(&r, &sample);
	}
	run_done(&r);
	*ret_unnamed = r.unnamed;
	return rc;
}
