#include "sampler/session/parts/compile_watch.h"

#include <stdlib.h>

#include "sampler/profile/profile.h"
#include "sampler/readers/readers.h"
#include "sampler/resolve/resolver.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/u64map.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/methods/compile_state.h"
#include "symbolizer/hotspot/methods/method.h"

/* When there are more than READ_MAX methods, they are read in turn. Short runs need an early reading. */
#define FIRST_INTERVAL_NS UINT64_C(250000000)
#define INTERVAL_NS UINT64_C(1000000000)
#define FIRST_NS UINT64_C(2000000000)
#define SECOND_NS UINT64_C(1000000000)
enum { READ_MAX = 512, SPARING_MAX = 16, WATCHED_MAX = 1 << 18 };
/* Sparing: of the states of a method, the first are kept (store/day.c), except for a count that seldom grows. */
enum { PAUSE_MIN_S = 40, PAUSE_MAX_S = 640 };

struct watched {
	uint32_t method;
	uint32_t c1_ms, c2_ms; /* 0: not seen compiled */
	bool interpreted; /* has interpreted samples */
	bool was_interpreted; /* in any profile */
	uint16_t pause_s; /* sparing: until its state is read again */
	uint32_t due_s; /* when that is, after the start; 0: at once */
	struct hs_compile_state state;
};

struct compile_watch {
	VEC(struct watched) methods;
	struct u64map index; /* method ID -> position + 1 */
	uint32_t codes; /* code IDs looked at */
	size_t frames; /* frames of the profile looked at */
	size_t next; /* position of the next method to read */
	uint64_t start_ns, read_ns;
	enum compile_reading reading;
	const struct hotspot *hs; /* while frames are named: the JVM of the method IDs */
	bool has_rules;
	struct hs_compile_rules rules;
	/*
	 * CPU time left for saying why methods are interpreted. Patterns of CompileCommand and
	 * names of classes come from the target: comparing 4 KiB of patterns with 64 KiB of names
	 * takes 0.1 s for each method.
	 */
	uint64_t why_budget_ns;
};

#define WHY_NS UINT64_C(2000000000)

static void begin(struct compile_watch *w, uint64_t start_ns, enum compile_reading reading)
{
	*w = (struct compile_watch){
		.start_ns = start_ns, .read_ns = start_ns, .reading = reading, .why_budget_ns = WHY_NS};
}

struct compile_watch *compile_watch_new(uint64_t start_ns, enum compile_reading reading)
{
	struct compile_watch *w = malloc(sizeof(*w));

	if (w)
		begin(w, start_ns, reading);
	return w;
}

static void exec(void *part)
{
	struct compile_watch *w = part;

	vec_done(&w->methods);
	u64map_done(&w->index);
	begin(w, w->start_ns, w->reading);
}

static void renewed(void *part, const struct profile *old, struct profile *fresh)
{
	struct compile_watch *w = part;

	(void)old, (void)fresh;
	w->frames = 0;
	for (size_t i = 0; i < w->methods.n; i++)
		w->methods.v[i].interpreted = false;
}

static void close_part(void *part)
{
	exec(part);
	free(part);
}

/* NULL: out of memory, or too many methods. */
static struct watched *watch(struct compile_watch *w, uint32_t method)
{
	uint32_t at;

	if (!method || w->methods.n >= WATCHED_MAX)
		return NULL;
	at = u64map_get(&w->index, method);
	if (!at) {
		at = (uint32_t)w->methods.n + 1;
		if (!vec_push(&w->methods, (struct watched){.method = method}) || !u64map_put(&w->index, method, at))
			return NULL;
	}
	return &w->methods.v[at - 1];
}

static void note_tier(const struct compile_watch *w, struct watched *m, int tier, uint64_t now_ns)
{
	uint64_t ms = now_ns > w->start_ns ? (now_ns - w->start_ns) / 1000000 + 1 : 1;
	uint32_t *first = tier == TIER_C2 ? &m->c2_ms : &m->c1_ms;

	if (tier > 0 && !*first)
		*first = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

/* Cheap while there is no new code. */
static void note_codes(struct compile_watch *w, const struct hotspot *hs, uint64_t now_ns)
{
	for (uint32_t n = hs_code_count(hs); w->codes < n;) {
		const struct code *c = hs_code(hs, ++w->codes);
		struct watched *m = c && c->kind == BLOB_NMETHOD ? watch(w, c->method_id) : NULL;

		if (m)
			note_tier(w, m, c->tier, now_ns);
	}
}

static void forgotten(void *part, struct hotspot *hs)
{
	struct compile_watch *w = part;
	size_t n = 0;

	u64map_clear(&w->index);
	for (size_t i = 0; i < w->methods.n; i++) {
		struct watched m = w->methods.v[i];

		if (!hs_method(hs, m.method) || !u64map_put(&w->index, m.method, (uint32_t)n + 1))
			continue;
		w->methods.v[n++] = m;
	}
	w->methods.n = n;
	w->next = 0;
}

static bool is_due(const struct compile_watch *w, uint64_t now_ns)
{
	return now_ns > w->read_ns &&
	       now_ns - w->read_ns >= (now_ns - w->start_ns < FIRST_NS ? FIRST_INTERVAL_NS : INTERVAL_NS);
}

/* What was read before does not say why. */
static void note_interpreted(struct watched *m)
{
	m->interpreted = true;
	if (m->was_interpreted)
		return;
	m->was_interpreted = true;
	m->pause_s = 0;
	m->due_s = 0;
}

static void watch_interpreted(struct compile_watch *w, const struct profile *p)
{
	for (size_t n = profile_frame_count(p); w->frames < n; w->frames++) {
		const struct frame_key *k = profile_frame(p, (uint32_t)w->frames);

		struct watched *m = k->kind == FRAME_INTERPRETED ? watch(w, k->id) : NULL;

		if (m)
			note_interpreted(m);
	}
}

static uint32_t seconds_at(const struct compile_watch *w, uint64_t now_ns)
{
	return now_ns > w->start_ns ? (uint32_t)((now_ns - w->start_ns) / SECOND_NS) : 0;
}

static void take(struct compile_watch *w, struct watched *m, const struct hs_compile_state *s, uint64_t now_ns)
{
	m->pause_s = !m->pause_s ? PAUSE_MIN_S : m->pause_s < PAUSE_MAX_S ? 2 * m->pause_s : PAUSE_MAX_S;
	m->due_s = seconds_at(w, now_ns) + m->pause_s;
	if (!s->known)
		return;
	m->state = *s;
	note_tier(w, m, s->tier, now_ns);
}

/* Reads the states of the methods at n positions. */
static void read_at(struct compile_watch *w, struct hotspot *hs, const uint32_t *at, size_t n, uint64_t now_ns)
{
	CLEANUP(free_at_exit) uint32_t *ids = calloc(n, sizeof(*ids));
	CLEANUP(free_at_exit) struct hs_compile_state *states = calloc(n, sizeof(*states));

	if (!ids || !states)
		return;
	for (size_t i = 0; i < n; i++)
		ids[i] = w->methods.v[at[i]].method;
	if (hs_compile_states(hs, ids, n, states) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		take(w, &w->methods.v[at[i]], &states[i], now_ns);
}

static bool is_pausing(const struct compile_watch *w, const struct watched *m, uint32_t now_s)
{
	return w->reading == COMPILE_READ_SPARING && m->due_s > now_s;
}

static size_t find_interpreted(const struct compile_watch *w, uint32_t now_s, uint32_t *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < w->methods.n && n < max; i++)
		if (w->methods.v[i].interpreted && !is_pausing(w, &w->methods.v[i], now_s))
			ret[n++] = (uint32_t)i;
	return n;
}

static size_t find_others(struct compile_watch *w, uint32_t now_s, uint32_t *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < w->methods.n && n < max; i++) {
		if (!is_pausing(w, &w->methods.v[w->next], now_s))
			ret[n++] = (uint32_t)w->next;
		w->next = (w->next + 1) % w->methods.n;
	}
	return n;
}

/* Reads the states of methods in `p`: of at most `interpreted` that have interpreted samples, and of `others` in turn. */
static void read_states(struct compile_watch *w, struct hotspot *hs, const struct profile *p, uint64_t now_ns,
			size_t interpreted, size_t others)
{
	CLEANUP(free_at_exit) uint32_t *at = NULL;
	uint32_t now_s = seconds_at(w, now_ns);
	struct hs_compile_rules rules;
	size_t n;

	w->read_ns = now_ns;
	watch_interpreted(w, p);
	if (others > w->methods.n)
		others = w->methods.n;
	if (!others)
		return;
	at = calloc(interpreted + others, sizeof(*at));
	if (!at)
		return;
	n = find_interpreted(w, now_s, at, interpreted);
	n += find_others(w, now_s, at + n, others);
	if (!n)
		return;
	read_at(w, hs, at, n, now_ns);
	if (hs_compile_rules_read(hs, &rules)) {
		w->rules = rules;
		w->has_rules = true;
	}
}

static void counted(void *part, const struct sampled *s)
{
	struct compile_watch *w = part;
	struct hotspot *hs = s->readers->hs;
	uint64_t now_ns = s->raw->time_ns;

	if (!hs)
		return;
	note_codes(w, hs, now_ns);
	if (w->reading == COMPILE_READ_POLLED && is_due(w, now_ns))
		read_states(w, hs, s->profile, now_ns, 0, READ_MAX);
}

static void say_why(struct compile_watch *w, const struct hs_method *m, const struct watched *at, struct buf *why)
{
	uint64_t start = clock_thread_cpu_ns(), took;

	/* What is sampled for days is kept, and each sentence once. */
	hs_compile_why(&w->rules, m, &at->state, w->reading == COMPILE_READ_SPARING, why);
	took = clock_thread_cpu_ns() - start;
	w->why_budget_ns -= took < w->why_budget_ns ? took : w->why_budget_ns;
	if (!w->why_budget_ns)
		log_warn("the reason why some methods are interpreted is missing: comparing them with "
			 "CompileCommand takes too long");
}

/* A resolver_compile_fn. */
static void describe(void *part, uint32_t method_id, struct named_compile *ret, struct buf *why)
{
	struct compile_watch *w = part;
	const struct hs_method *m = hs_method(w->hs, method_id);
	uint32_t place = u64map_get(&w->index, method_id);
	const struct watched *at;

	if (!m || !place)
		return;
	at = &w->methods.v[place - 1];
	ret->c1_ms = at->c1_ms;
	ret->c2_ms = at->c2_ms;
	ret->not_entrant = at->state.not_entrant;
	if (w->has_rules && at->interpreted && w->why_budget_ns)
		say_why(w, m, at, why);
}

static void name(void *part, const struct profile *p, struct resolver_sources *sources)
{
	struct compile_watch *w = part;

	if (!sources->hs)
		return;
	if (w->reading == COMPILE_READ_SPARING)
		read_states(w, sources->hs, p, clock_monotonic_ns(), READ_MAX, SPARING_MAX);
	else
		read_states(w, sources->hs, p, clock_monotonic_ns(), 0, WATCHED_MAX);
	w->hs = sources->hs;
	sources->compile = describe;
	sources->compile_ctx = w;
}

const struct part_ops compile_watch_part = {
	.counted = counted,
	.forgotten = forgotten,
	.name = name,
	.exec = exec,
	.renewed = renewed,
	.close = close_part,
};
