#include "sampler/engine/suspend/suspend_idle.h"

#include "symbolizer/base/clock.h"
#include "symbolizer/target/proc.h"

enum {
	CLOCK_FROM = 16, /* fewer idle threads are read one by one just as fast */
	CLOCK_TRIES = 2,
	SCAN_SHARE = 4, /* at most one in this many idle threads is read per tick */
	CLOCK_SHARE =
		256, /* the kernel adds up about ten threads per us: with this many idle, only at every other tick */
};

static bool read_clock(const struct suspend_idle *s, uint64_t *ret_ns)
{
	return clock_read_ns(s->clock, ret_ns);
}

void suspend_idle_init(struct suspend_idle *s, struct suspend_threads *t)
{
	*s = (struct suspend_idle){0};
	if (clock_getcpuclockid(proc_pid(t->proc), &s->clock) == 0)
		s->read_clock = read_clock;
}

/* False: one of them is gone. `all_of_them`: including those asked to stop, which this tick does not look at. */
static bool read_awake(struct suspend_threads *t, bool all_of_them, uint64_t *ret_cpu_ns)
{
	bool all = true;

	*ret_cpu_ns = 0;
	for (size_t i = 0; i < t->n_awake; i++) {
		struct suspend_thread *th = t->all[i];
		bool wanted = !th->left && (all_of_them || !th->tracing);

		th->read = wanted && suspend_thread_account(t, th, &th->now) == 0;
		all &= th->read || !wanted;
		*ret_cpu_ns += th->read ? th->now.cpu_ns : 0;
	}
	return all;
}

/* What all threads except the awake ones have used. False: unknown. */
static bool read_others(const struct suspend_idle *s, struct suspend_threads *t, bool due, uint64_t *ret)
{
	uint64_t before, after, awake;
	bool wanted = s->read_clock && due && t->n - t->n_awake >= CLOCK_FROM && !t->n_left;

	for (unsigned i = 0; i < CLOCK_TRIES; i++) {
		bool clock = wanted && s->read_clock(s, &before);

		if (!read_awake(t, wanted, &awake)) {
			suspend_threads_relist(t);
			return false;
		}
		if (!clock || !s->read_clock(s, &after))
			return false;
		/* No thread's time can shrink, so if the sum has not changed, none has. */
		if (before == after) {
			*ret = before - awake;
			return true;
		}
	}
	return false;
}

void suspend_idle_add(struct suspend_idle *s, struct suspend_threads *t, struct suspend_thread *th)
{
	s->known_ns += th->now.cpu_ns;
	s->from_ns += th->now.cpu_ns;
	suspend_threads_sleep(t, th);
}

/* from_ns may or may not include what it used since the scan began; if it is too small now, there is one more scan. */
static void wake(struct suspend_idle *s, struct suspend_threads *t, struct suspend_thread *th, uint64_t cpu_ns)
{
	s->known_ns -= th->look.account.cpu_ns;
	s->from_ns -= cpu_ns;
	suspend_threads_wake(t, th);
}

void suspend_idle_remove(struct suspend_idle *s, struct suspend_threads *t, struct suspend_thread *th)
{
	wake(s, t, th, th->look.account.cpu_ns);
}

/* Returns whether it has run, and is awake now. */
static bool read_idle(struct suspend_idle *s, struct suspend_threads *t, struct suspend_thread *th,
		      suspend_thread_fn *woken, void *ctx)
{
	th->read = suspend_thread_account(t, th, &th->now) == 0;
	if (!th->read)
		suspend_threads_relist(t);
	if (!th->read || has_run_account_equal(&th->now, &th->look.account))
		return false;
	wake(s, t, th, th->now.cpu_ns);
	woken(ctx, th);
	return true;
}

static void scan_ended(struct suspend_idle *s)
{
	s->scanning = false;
	if (!s->from_known)
		return;
	s->gone_ns = s->from_ns - s->known_ns;
	s->sure = true;
}

/* `missing`: the CPU time to be found; 0: unknown. */
static void scan(struct suspend_idle *s, struct suspend_threads *t, uint64_t missing, suspend_thread_fn *woken,
		 void *ctx)
{
	for (; s->credit; s->credit--) {
		if (s->cursor > t->n)
			s->cursor = t->n;
		if (s->cursor <= t->n_awake) {
			scan_ended(s);
			return;
		}
		struct suspend_thread *th = t->all[s->cursor - 1];
		uint64_t was = th->look.account.cpu_ns;

		if (!read_idle(s, t, th, woken, ctx)) {
			s->cursor--; /* its place is now taken by one that has not been read */
			continue;
		}
		if (!missing)
			continue;
		missing -= th->now.cpu_ns - was;
		if (!missing) {
			s->scanning = false;
			return;
		}
	}
}

static bool is_clock_due(struct suspend_idle *s, size_t idle)
{
	size_t share = 1 + idle / CLOCK_SHARE;

	return s->ticks++ % (share < SCAN_SHARE ? share : SCAN_SHARE) == 0;
}

static void scan_from(struct suspend_idle *s, struct suspend_threads *t, bool known, uint64_t others)
{
	s->scanning = true;
	s->cursor = t->n;
	s->from_known = known;
	s->from_ns = others;
}

void suspend_idle_find(struct suspend_idle *s, struct suspend_threads *t, suspend_thread_fn *woken, void *ctx)
{
	size_t idle = t->n - t->n_awake, share = idle / (idle < CLOCK_FROM ? 1 : SCAN_SHARE) + 1;
	bool due = is_clock_due(s, idle), told;
	uint64_t others = 0, missing = 0;

	told = read_others(s, t, due, &others);
	s->credit = s->credit + share < idle + share ? s->credit + share : idle + share;
	if (told && s->sure) {
		missing = others - s->known_ns - s->gone_ns;
		s->scanning &= missing != 0;
		if (!missing)
			return;
	} else if (!told && s->credit > share) {
		s->credit = share;
	}
	if (!s->scanning && !due)
		return;
	if (!s->scanning)
		scan_from(s, t, told, others);
	scan(s, t, missing, woken, ctx);
}
