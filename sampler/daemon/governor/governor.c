#include "sampler/daemon/governor/governor.h"

#include <stdlib.h>

#include "symbolizer/base/vec.h"

#define SECOND_NS UINT64_C(1000000000)
#define URGENT_NS (2 * SECOND_NS)
#define HOLD_MIN_NS GOVERNOR_WINDOW_NS
#define HOLD_MAX_NS (32 * GOVERNOR_WINDOW_NS)
enum { MILLION = 1000000, URGENT_TIMES = 4 };

struct target {
	uint64_t id;
	uint32_t wanted; /* the smallest divisor that it may have */
	uint32_t divisor; /* the present one, which is that times a power of two */
	uint64_t cpu_ns, from_ns; /* its total cost now, and when the window began */
	uint64_t lowered_ns, hold_ns; /* not raised until hold_ns after it was lowered */
	uint64_t raised_ns; /* since it was lowered; 0: not */
	unsigned lost; /* how many doublings of its divisor are for lost samples; the others are for CPU time */
	uint64_t cost; /* expected cost at the present divisor, in millionths of a core */
};

struct governor {
	struct governor_options o;
	VEC(struct target) targets;
	struct {
		bool open;
		uint64_t began_ns, own_ns; /* the time, and the daemon's CPU time at that time */
		uint64_t cost_ns; /* of the targets since then */
	} window;
	uint64_t last_lost;
	uint64_t starved_ns; /* until then, targets are to be lowered because samples were lost; 0: none were */
	uint64_t own_cpu;
	bool helpless;
};

struct governor *governor_new(const struct governor_options *o)
{
	struct governor *g = calloc(1, sizeof(*g));

	if (g)
		g->o = *o;
	return g;
}

void governor_free(struct governor *g)
{
	if (!g)
		return;
	vec_done(&g->targets);
	free(g);
}

static struct target *find(struct governor *g, uint64_t id)
{
	for (size_t i = 0; i < g->targets.n; i++)
		if (g->targets.v[i].id == id)
			return &g->targets.v[i];
	return NULL;
}

static bool above_floor(const struct governor *g, uint32_t divisor)
{
	return (uint64_t)divisor * g->o.floor_hz <= g->o.base_hz;
}

/* base / n - wanted < wanted - base / (n + 1), multiplied out */
uint32_t governor_divisor(uint32_t base_hz, uint32_t wanted_hz)
{
	uint64_t base = base_hz, wanted = wanted_hz, n = base / wanted;

	if (wanted >= base)
		return 1;
	return (uint32_t)(base * (2 * n + 1) < 2 * wanted * n * (n + 1) ? n : n + 1);
}

uint32_t governor_add(struct governor *g, uint64_t target, uint32_t wanted_hz)
{
	uint32_t wanted = wanted_hz ? governor_divisor(g->o.base_hz, wanted_hz) : 1;
	struct target t = {.id = target, .wanted = wanted, .divisor = wanted, .hold_ns = HOLD_MIN_NS};

	return vec_push(&g->targets, t) ? wanted : 0;
}

uint32_t governor_want(struct governor *g, uint64_t target, uint32_t wanted_hz)
{
	struct target *t = find(g, target);
	uint32_t times;

	if (!t)
		return 0;
	times = t->divisor / t->wanted;
	t->wanted = governor_divisor(g->o.base_hz, wanted_hz);
	for (; times > 1 && !above_floor(g, t->wanted * times); times /= 2)
		t->lost -= t->lost > 0;
	t->divisor = t->wanted * times;
	return t->divisor;
}

void governor_remove(struct governor *g, uint64_t target)
{
	struct target *t = find(g, target);

	if (t)
		*t = g->targets.v[--g->targets.n];
}

void governor_cost(struct governor *g, uint64_t target, uint64_t cpu_ns)
{
	struct target *t = find(g, target);

	if (!t)
		return;
	if (cpu_ns < t->cpu_ns) /* a new process counts from 0 */
		t->from_ns = t->cpu_ns = 0;
	g->window.cost_ns += cpu_ns - t->cpu_ns;
	t->cpu_ns = cpu_ns;
}

static void begin_window(struct governor *g, uint64_t now_ns, uint64_t own_ns)
{
	g->window.open = true;
	g->window.began_ns = now_ns;
	g->window.own_ns = own_ns;
	g->window.cost_ns = 0;
	for (size_t i = 0; i < g->targets.n; i++)
		g->targets.v[i].from_ns = g->targets.v[i].cpu_ns;
}

static uint64_t share(uint64_t cpu_ns, uint64_t elapsed_ns)
{
	return (uint64_t)((unsigned __int128)cpu_ns * MILLION / elapsed_ns);
}

static uint64_t mark(const struct governor *g)
{
	return g->o.cpu_limit / 5 * 4;
}

struct changes {
	struct governor *g;
	void (*tell)(void *ctx, const struct governor_change *c);
	void *ctx;
	uint64_t now_ns, own_cpu; /* own_cpu: as measured */
	bool any;
};

/* lost: whether that is because of lost samples */
static void set(struct changes *c, struct target *t, uint32_t divisor, bool lost)
{
	const struct governor_change change = {t->id, t->divisor, divisor, c->own_cpu, lost};

	t->divisor = divisor;
	c->any = true;
	c->tell(c->ctx, &change);
}

/* What the limit lowers is raised only as the limit allows, including earlier steps that were for lost samples. */
static void lower(struct changes *c, struct target *t, bool lost)
{
	bool soon = c->now_ns - t->raised_ns < 4 * t->hold_ns;

	if (t->raised_ns) {
		t->hold_ns = !soon ? HOLD_MIN_NS : t->hold_ns * 2 < HOLD_MAX_NS ? t->hold_ns * 2 : HOLD_MAX_NS;
		t->raised_ns = 0;
	}
	t->lowered_ns = c->now_ns;
	t->lost = lost ? t->lost + 1 : 0;
	t->cost /= 2;
	set(c, t, t->divisor * 2, lost);
}

/* The most expensive target whose divisor may grow. */
static struct target *costliest(struct governor *g)
{
	struct target *best = NULL;

	for (size_t i = 0; i < g->targets.n; i++) {
		struct target *t = &g->targets.v[i];

		if (t->cost && above_floor(g, t->divisor * 2) && (!best || t->cost > best->cost))
			best = t;
	}
	return best;
}

static void lower_until(struct changes *c, uint64_t expected, uint64_t goal, bool lost)
{
	struct target *t;

	while (expected > goal && (t = costliest(c->g))) {
		uint64_t saved = t->cost - t->cost / 2;

		expected -= saved < expected ? saved : expected;
		lower(c, t, lost);
	}
}

static void save(struct changes *c)
{
	lower_until(c, c->own_cpu, mark(c->g), false);
}

/* What it costs may be known only when the daemon gets on: until then the loss is not forgotten. */
static void relieve(struct changes *c)
{
	uint64_t all = 0;

	for (size_t i = 0; i < c->g->targets.n; i++)
		all += c->g->targets.v[i].cost;
	lower_until(c, all, all / 2, true);
	if (all)
		c->g->starved_ns = 0;
}

/* The target with the largest divisor; among equals the cheapest. Only if it fits into `room`. */
static struct target *most_lowered(struct changes *c, uint64_t room, bool lost)
{
	struct governor *g = c->g;
	struct target *best = NULL;

	for (size_t i = 0; i < g->targets.n; i++) {
		struct target *t = &g->targets.v[i];
		bool may = (lost ? t->lost > 0 : t->divisor > t->wanted) && t->cost <= room &&
			   c->now_ns - t->lowered_ns >= t->hold_ns;

		if (may &&
		    (!best || t->divisor > best->divisor || (t->divisor == best->divisor && t->cost < best->cost)))
			best = t;
	}
	return best;
}

static void raise_one(struct changes *c, struct target *t)
{
	bool lost = t->lost > 0;

	t->lost -= lost;
	t->cost *= 2;
	t->raised_ns = c->now_ns;
	set(c, t, t->divisor / 2, lost);
}

/* lost: undoes only what was done because samples were lost */
static void spend(struct changes *c, uint64_t goal, bool lost)
{
	uint64_t expected = c->own_cpu;
	struct target *t;

	while (expected < goal && (t = most_lowered(c, goal - expected, lost))) {
		expected += t->cost;
		raise_one(c, t);
	}
}

static void measure(struct governor *g, uint64_t elapsed_ns)
{
	for (size_t i = 0; i < g->targets.n; i++)
		g->targets.v[i].cost = share(g->targets.v[i].cpu_ns - g->targets.v[i].from_ns, elapsed_ns);
}

/* Before samples were lost, all was below the limit, but maybe above the marks. */
static void judge(struct changes *c)
{
	struct governor *g = c->g;

	if (c->now_ns < g->starved_ns)
		relieve(c);
	else if (c->own_cpu > g->o.cpu_limit)
		save(c);
	else if (c->own_cpu < g->o.cpu_limit / 2)
		spend(c, mark(g), false);
	else
		spend(c, g->o.cpu_limit, true);
}

/* Returns whether the window is over. If there is nothing to lower for lost samples, it goes on. */
static bool step(struct changes *c, uint64_t elapsed_ns)
{
	struct governor *g = c->g;
	bool soon = elapsed_ns >= URGENT_NS;

	measure(g, elapsed_ns);
	if (elapsed_ns >= GOVERNOR_WINDOW_NS || (soon && c->own_cpu > URGENT_TIMES * g->o.cpu_limit)) {
		judge(c);
		return true;
	}
	if (soon && c->now_ns < g->starved_ns)
		relieve(c);
	return c->any;
}

void governor_step(struct governor *g, uint64_t now_ns, uint64_t own_cpu_ns, uint64_t lost,
		   void (*change)(void *ctx, const struct governor_change *c), void *ctx)
{
	struct changes c = {.g = g, .tell = change, .ctx = ctx, .now_ns = now_ns};
	uint64_t elapsed;

	if (g->window.open && lost > g->last_lost)
		g->starved_ns = now_ns + GOVERNOR_WINDOW_NS;
	g->last_lost = lost;
	if (!g->window.open || now_ns <= g->window.began_ns) {
		begin_window(g, now_ns, own_cpu_ns);
		return;
	}
	elapsed = now_ns - g->window.began_ns;
	c.own_cpu = share(own_cpu_ns - g->window.own_ns, elapsed);
	if (!step(&c, elapsed))
		return;
	g->own_cpu = c.own_cpu;
	g->helpless = c.own_cpu > g->o.cpu_limit && !c.any;
	begin_window(g, now_ns, own_cpu_ns);
}

bool governor_is_due(const struct governor *g, uint64_t now_ns, uint64_t lost)
{
	uint64_t elapsed = now_ns - g->window.began_ns;

	if (!g->window.open || now_ns <= g->window.began_ns || elapsed >= GOVERNOR_WINDOW_NS)
		return true;
	return lost > g->last_lost || now_ns < g->starved_ns || share(g->window.cost_ns, elapsed) > g->o.cpu_limit / 2;
}

struct governor_state governor_state(const struct governor *g)
{
	struct governor_state s = {.own_cpu = g->own_cpu, .targets = g->targets.n, .helpless = g->helpless};

	for (size_t i = 0; i < g->targets.n; i++) {
		s.lowered += g->targets.v[i].divisor > g->targets.v[i].wanted;
		s.starved += g->targets.v[i].lost > 0;
	}
	return s;
}
