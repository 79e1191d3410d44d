#include "sampler/profile/profile.h"

#include <stdlib.h>

#include "sampler/profile/sample_table.h"
#include "sampler/profile/stack_table.h"
#include "sampler/profile/thread_names.h"
#include "symbolizer/base/hash.h"

/* 524,288 samples with slices take 40 MB; they may use an eighth of the memory. */
enum { DEFAULT_SLICED = 1 << 19, SLICED_SHARE = 8 * 64 };

/* Number of the stack `[storage limit]`: made first, while there is memory. */
enum { LIMIT_STACK = 0 };

struct profile {
	struct profile_options o;
	struct stack_table stacks;
	struct sample_table samples;
	uint64_t slice_ns, slices_from_ns; /* 0: no slices */
	uint32_t slice, last_slice; /* slice of the samples that follow; the last slice so far */
	size_t slice_limit; /* limit of samples with slices */
	struct thread_names names;
	struct profile_sample spill; /* samples that could not even be counted under LIMIT_STACK */
	struct profile_totals totals;
	uint64_t elsewhere; /* profile_set_elsewhere() */
	size_t shared; /* the part of it counted in o.shared */
};

/* How far a walk can be trusted. Each walk is exactly one of these. */
enum quality { QUALITY_COMPLETE, QUALITY_RESYNCHRONISED, QUALITY_FROZEN, QUALITY_INCOMPLETE };

static bool add_limit_stack(struct profile *p)
{
	struct stack_keys k = {.marks = {{.kind = FRAME_MARK, .off = MARK_STORAGE_LIMIT}}, .n_marks = 1};

	return stack_table_add(&p->stacks, &k, stack_keys_hash(&p->stacks, &k)) == LIMIT_STACK;
}

static size_t profile_bytes(const struct profile *p)
{
	return sizeof(*p) + stack_table_bytes(&p->stacks) + sample_table_bytes(&p->samples) +
	       thread_names_bytes(&p->names);
}

/* Updates the shared count with the memory of this profile. */
static void share(struct profile *p, size_t bytes)
{
	if (!p->o.shared)
		return;
	p->o.shared->bytes += bytes - p->shared;
	p->shared = bytes;
}

static bool fits(const struct profile *p, uint64_t bytes)
{
	const struct profile_memory *m = p->o.shared;

	return bytes <= p->o.max_bytes && (!m || m->bytes - p->shared + bytes <= m->max_bytes);
}

struct profile *profile_new(struct profile_options o)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->o = o;
	if (!o.depth)
		p->o.depth = PROFILE_DEPTH;
	if (!o.max_bytes)
		p->o.max_bytes = PROFILE_MAX_BYTES;
	p->slice_limit = o.max_sliced ? o.max_sliced : DEFAULT_SLICED;
	if (p->slice_limit > p->o.max_bytes / SLICED_SHARE)
		p->slice_limit = p->o.max_bytes / SLICED_SHARE;
	p->spill.stack = LIMIT_STACK;
	p->stacks.seed = hash_secret();
	if (!add_limit_stack(p)) {
		profile_free(p);
		return NULL;
	}
	share(p, profile_bytes(p));
	return p;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	share(p, 0);
	stack_table_done(&p->stacks);
	sample_table_done(&p->samples);
	thread_names_done(&p->names);
	free(p);
}

/*
 * Is the stack of a sample without user registers complete? A kernel thread has no user side, and a thread that is
 * exiting or at the end of execve no longer has one. Kernel frames always reach the entry.
 */
static bool only_kernel(const struct walk *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->frames[i].kind != FRAME_KERNEL &&
		    !(w->frames[i].kind == FRAME_MARK && w->frames[i].off == MARK_KERNEL))
			return false;
	return true;
}

static enum quality walk_quality(const struct walk *w)
{
	bool whole = (w->end == WALK_ROOT && w->n) || (w->end == WALK_NO_USER && only_kernel(w));

	if (!whole)
		return QUALITY_INCOMPLETE;
	if (w->resynchronised)
		return QUALITY_RESYNCHRONISED;
	return w->frozen ? QUALITY_FROZEN : QUALITY_COMPLETE;
}

static void add_mark(struct stack_keys *k, enum frame_mark mark)
{
	k->marks[k->n_marks++] = (struct frame_key){.kind = FRAME_MARK, .off = mark};
}

/* The number of kernel frames at the leaf, which may be shown as one frame. */
static uint32_t kernel_frames(const struct walk *w)
{
	uint32_t n = 0;

	while (n < w->n && w->frames[n].kind == FRAME_KERNEL)
		n++;
	return n;
}

static bool is_deeper(const struct profile *p, const struct walk *w)
{
	return w->n > p->o.depth && w->n - kernel_frames(w) > p->o.depth;
}

/* At most two marks: where frames were cut off and, outside of that, what is wrong with the walk. */
static struct stack_keys walk_keys(const struct profile *p, const struct walk *w, enum quality q)
{
	static const enum frame_mark mark_of[] = {MARK_NONE, MARK_RESYNCHRONISED, MARK_FROZEN, MARK_INCOMPLETE};
	struct stack_keys k = {.frames = w->frames, .n = w->n};

	if (is_deeper(p, w)) {
		k.n = p->o.depth + kernel_frames(w);
		add_mark(&k, MARK_TRUNCATED);
	}
	if (mark_of[q] != MARK_NONE)
		add_mark(&k, mark_of[q]);
	/* A kernel thread without its kernel frames: the stack needs a frame. */
	if (!k.n && !k.n_marks)
		add_mark(&k, MARK_KERNEL);
	return k;
}

static uint32_t stack_of(struct profile *p, const struct stack_keys *k)
{
	uint64_t hash = stack_keys_hash(&p->stacks, k);
	uint32_t stack = stack_table_find(&p->stacks, k, hash);

	if (stack != SLOTS_NONE)
		return stack;
	if (!fits(p, p->elsewhere + profile_bytes(p) + stack_table_cost(&p->stacks, k->n + k->n_marks)))
		return LIMIT_STACK;
	stack = stack_table_add(&p->stacks, k, hash);
	return stack == SLOTS_NONE ? LIMIT_STACK : stack;
}

/* Widens slices when their counts take too much memory, or leave too little for stacks. */
static void fold_slices(struct profile *p)
{
	sample_table_fold(&p->samples);
	p->slice_ns *= 2;
	p->slice = p->slice / 2 + p->slice % 2;
	p->last_slice = p->last_slice / 2 + p->last_slice % 2;
	p->slice_limit = p->samples.list.n * 2 > p->slice_limit ? p->samples.list.n * 2 : p->slice_limit;
}

static bool sample_fits(const struct profile *p)
{
	return fits(p, profile_bytes(p) + sample_table_cost(&p->samples));
}

static struct profile_sample *sample_of(struct profile *p, struct profile_sample *wanted)
{
	struct profile_sample *s = sample_table_find(&p->samples, wanted);

	if (s)
		return s;
	if (wanted->slice && p->last_slice > 1 && (p->samples.list.n >= p->slice_limit || !sample_fits(p))) {
		fold_slices(p);
		wanted->slice = p->slice;
		s = sample_table_find(&p->samples, wanted);
	}
	if (!s && sample_fits(p))
		s = sample_table_add(&p->samples, wanted);
	return s;
}

/* Finds where to count the sample: as requested, otherwise under the limit's stack, otherwise not separately. */
static struct profile_sample *sample_place(struct profile *p, struct profile_sample wanted)
{
	struct profile_sample *s = sample_of(p, &wanted);

	if (!s && wanted.stack != LIMIT_STACK) {
		wanted.stack = LIMIT_STACK;
		s = sample_of(p, &wanted);
	}
	return s ? s : &p->spill;
}

static void count(struct profile_totals *t, const struct walk *w, enum quality q, bool limited, uint32_t n)
{
	uint32_t complete = q == QUALITY_COMPLETE ? n : 0;

	t->samples += n;
	t->ends[(unsigned)w->end < WALK_ENDS ? w->end : WALK_BAD_FRAME] += n;
	t->complete += complete;
	t->resynchronised += q == QUALITY_RESYNCHRONISED ? n : 0;
	t->frozen += q == QUALITY_FROZEN ? n : 0;
	t->java += w->java ? n : 0;
	t->java_complete += w->java ? complete : 0;
	t->storage_limit += limited ? n : 0;
}

void profile_slices(struct profile *p, uint64_t slice_ns, uint64_t from_ns)
{
	p->slice_ns = slice_ns;
	p->slices_from_ns = from_ns;
}

uint64_t profile_slice_ns(const struct profile *p)
{
	return p->slice_ns;
}

void profile_time(struct profile *p, uint64_t time_ns)
{
	int64_t after = (int64_t)(time_ns - p->slices_from_ns); /* the first slice may begin before the clock did */
	uint64_t since = after > 0 ? (uint64_t)after : 0;

	if (!p->slice_ns)
		return;
	since /= p->slice_ns;
	p->slice = since < UINT32_MAX - 1 ? (uint32_t)since + 1 : UINT32_MAX - 1;
	if (p->slice > p->last_slice)
		p->last_slice = p->slice;
}

/* Adds to the sample of a stack, and returns the stack that has taken it. The totals are up to the caller. */
static uint32_t add(struct profile *p, pid_t pid, pid_t tid, enum thread_state state, uint32_t stack, uint64_t count,
		    uint64_t weight)
{
	struct profile_sample *s = sample_place(p, (struct profile_sample){
							   .stack = stack,
							   .pid = pid,
							   .tid = p->o.threads ? tid : 0,
							   .state = p->o.states ? state : 0,
							   .slice = p->slice,
						   });

	if (s == &p->spill && !s->count)
		s->pid = pid;
	s->count += count;
	s->weight += weight;
	share(p, profile_bytes(p));
	return s->stack;
}

uint32_t profile_add(struct profile *p, pid_t pid, pid_t tid, enum thread_state state, const struct walk *w,
		     uint64_t weight)
{
	return profile_add_times(p, pid, tid, state, w, 1, weight);
}

uint32_t profile_add_times(struct profile *p, pid_t pid, pid_t tid, enum thread_state state, const struct walk *w,
			   uint32_t times, uint64_t weight)
{
	enum quality q = walk_quality(w);
	struct stack_keys k = walk_keys(p, w, q);
	uint32_t stack = add(p, pid, tid, state, stack_of(p, &k), times, weight);

	p->totals.weight += weight;
	p->totals.truncated += is_deeper(p, w) ? times : 0;
	count(&p->totals, w, q, stack == LIMIT_STACK, times);
	return stack;
}

void profile_add_weight(struct profile *p, pid_t pid, pid_t tid, uint32_t stack, uint64_t count, uint64_t weight)
{
	add(p, pid, tid, THREAD_RUNNING, stack, count, weight);
	p->totals.weight += weight;
}

void profile_add_unsampled(struct profile *p, pid_t pid, pid_t tid, enum frame_mark mark, uint64_t count,
			   uint64_t weight)
{
	struct stack_keys k = {.n_marks = 0};

	add_mark(&k, mark);
	add(p, pid, tid, THREAD_RUNNING, stack_of(p, &k), count, weight);
	*(mark == MARK_UNSAMPLED_KERNEL ? &p->totals.unsampled_kernel : &p->totals.unsampled_short) += weight;
}

void profile_close(struct profile *p)
{
	p->totals.bytes = profile_bytes(p);
	stack_table_close(&p->stacks);
	sample_table_close(&p->samples);
}

void profile_set_elsewhere(struct profile *p, uint64_t bytes)
{
	p->elsewhere = bytes;
}

void profile_set_thread_name(struct profile *p, pid_t pid, pid_t tid, const char *name)
{
	thread_names_set(&p->names, pid, tid, name, !fits(p, profile_bytes(p)));
	share(p, profile_bytes(p));
}

const char *profile_thread_name(const struct profile *p, pid_t pid, pid_t tid)
{
	return thread_names_get(&p->names, pid, tid);
}

size_t profile_named_threads(const struct profile *p)
{
	return p->names.list.n;
}

struct profile_totals profile_totals(const struct profile *p)
{
	struct profile_totals t = p->totals;

	t.stacks = p->stacks.n_stacks - !t.storage_limit;
	t.frames = p->stacks.n_keys - !t.storage_limit;
	if (t.bytes < profile_bytes(p))
		t.bytes = profile_bytes(p);
	return t;
}

void profile_totals_add(struct profile_totals *sum, const struct profile_totals *t)
{
	sum->samples += t->samples;
	sum->weight += t->weight;
	for (int i = 0; i < WALK_ENDS; i++)
		sum->ends[i] += t->ends[i];
	sum->complete += t->complete;
	sum->resynchronised += t->resynchronised;
	sum->frozen += t->frozen;
	sum->truncated += t->truncated;
	sum->storage_limit += t->storage_limit;
	sum->unsampled_short += t->unsampled_short;
	sum->unsampled_kernel += t->unsampled_kernel;
	sum->java += t->java;
	sum->java_complete += t->java_complete;
	sum->stacks += t->stacks;
	sum->frames += t->frames;
	sum->bytes += t->bytes;
}

size_t profile_sample_count(const struct profile *p)
{
	return p->samples.list.n + (p->spill.count > 0);
}

struct profile_sample profile_sample(const struct profile *p, size_t i)
{
	return i < p->samples.list.n ? p->samples.list.v[i] : p->spill;
}

size_t profile_stack_count(const struct profile *p)
{
	return p->stacks.n_stacks;
}

struct stack_cursor profile_stack(const struct profile *p, uint32_t stack)
{
	return stack_table_cursor(&p->stacks, stack);
}

bool profile_next(struct stack_cursor *c, uint32_t *ret_frame)
{
	if (!c->left)
		return false;
	c->left--;
	*ret_frame = stack_number(&c->at);
	return true;
}

size_t profile_frame_count(const struct profile *p)
{
	return p->stacks.n_keys;
}

const struct frame_key *profile_frame(const struct profile *p, uint32_t frame)
{
	return &p->stacks.keys[frame];
}
