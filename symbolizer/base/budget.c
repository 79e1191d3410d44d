#include "symbolizer/base/budget.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/base/clock.h"

enum { POLL_CALLS = 1024 };

void budget_init(struct budget *b, uint64_t bytes, uint64_t ns)
{
	memset(b, 0, sizeof(*b));
	b->bytes_left = bytes;
	b->checked_left = BUDGET_CHECKED;
	b->ns_left = ns;
}

enum { POOL_SHARED_OUT = 4 };

void budget_pool_init(struct budget_pool *p, uint64_t bytes, size_t budgets)
{
	p->share = bytes / POOL_SHARED_OUT / budgets;
	p->bytes_left = bytes - p->share * budgets;
	p->most = p->bytes_left + p->share;
}

void budget_join(struct budget *b, struct budget_pool *p)
{
	b->pool = p;
	b->bytes_left = p->most;
	b->pool_below = p->most - p->share;
}

static bool take_from_pool(struct budget_pool *p, uint64_t bytes)
{
	_Atomic uint64_t *all = &p->bytes_left;
	uint64_t left = atomic_load_explicit(all, memory_order_relaxed);

	do
		if (bytes > left)
			return false;
	while (!atomic_compare_exchange_weak_explicit(all, &left, left - bytes, memory_order_relaxed,
						      memory_order_relaxed));
	return true;
}

bool budget_join_reserved(struct budget *b, struct budget_pool *p, uint64_t bytes)
{
	if (bytes > p->most || !take_from_pool(p, bytes))
		return false;
	b->pool = p;
	b->bytes_left = p->most;
	b->pool_below = p->most - bytes;
	return true;
}

void budget_leave(struct budget *b)
{
	atomic_fetch_add_explicit(&b->pool->bytes_left, b->pool->most - b->pool_below, memory_order_relaxed);
	b->pool = NULL;
}

void budget_begin(struct budget *b)
{
	if (b && !b->depth++)
		b->started_ns = clock_thread_cpu_ns();
}

static uint64_t spent_now(const struct budget *b)
{
	return b->depth ? clock_thread_cpu_ns() - b->started_ns : 0;
}

void budget_end(struct budget *b)
{
	if (!b)
		return;
	if (b->depth == 1)
		budget_spend(b, spent_now(b));
	b->depth--;
}

void budget_spend(struct budget *b, uint64_t ns)
{
	if (!b)
		return;
	b->ns_left = ns < b->ns_left ? b->ns_left - ns : 0;
	b->expired |= !b->ns_left;
}

void budget_grant(struct budget *b, uint64_t ns, uint64_t most)
{
	if (!b)
		return;
	b->ns_left = b->ns_left < most && ns < most - b->ns_left ? b->ns_left + ns : most;
	b->expired = !b->ns_left;
}

/* The bytes that a budget with this bytes_left has taken from the pool. */
static uint64_t pooled(const struct budget *b, uint64_t bytes_left)
{
	return b->pool && bytes_left < b->pool_below ? b->pool_below - bytes_left : 0;
}

static void give_to_pool(struct budget *b, uint64_t bytes)
{
	if (bytes)
		atomic_fetch_add_explicit(&b->pool->bytes_left, bytes, memory_order_relaxed);
}

bool budget_take(struct budget *b, uint64_t bytes)
{
	uint64_t left, more;

	if (!b)
		return true;
	left = atomic_load_explicit(&b->bytes_left, memory_order_relaxed);
	for (;;) {
		if (bytes > left)
			return false;
		more = pooled(b, left - bytes) - pooled(b, left);
		if (more && !take_from_pool(b->pool, more))
			return false;
		if (atomic_compare_exchange_weak_explicit(&b->bytes_left, &left, left - bytes, memory_order_relaxed,
							  memory_order_relaxed))
			return true;
		give_to_pool(b, more);
	}
}

bool budget_hold(struct budget *b, uint64_t *taken, uint64_t bytes)
{
	uint64_t want =
		bytes > UINT64_MAX - BUDGET_STEP ? bytes : (bytes + BUDGET_STEP - 1) / BUDGET_STEP * BUDGET_STEP;

	if (want > *taken && !budget_take(b, want - *taken))
		return false;
	if (want < *taken)
		budget_give(b, *taken - want);
	*taken = want;
	return true;
}

void budget_give(struct budget *b, uint64_t bytes)
{
	uint64_t left;

	if (!b)
		return;
	left = atomic_fetch_add_explicit(&b->bytes_left, bytes, memory_order_relaxed);
	give_to_pool(b, pooled(b, left) - pooled(b, left + bytes));
}

uint64_t budget_bytes_left(const struct budget *b)
{
	uint64_t left, most;

	if (!b)
		return UINT64_MAX;
	left = b->bytes_left;
	if (!b->pool)
		return left;
	most = b->pool->bytes_left + (left > b->pool_below ? left - b->pool_below : 0);
	return left < most ? left : most;
}

bool budget_check(struct budget *b, uint64_t bytes)
{
	if (!b)
		return true;
	if (bytes > b->checked_left)
		return false;
	b->checked_left -= bytes;
	return true;
}

bool budget_expired(struct budget *b)
{
	if (!b)
		return false;
	if (b->depth && !b->expired)
		b->expired = spent_now(b) >= b->ns_left;
	return b->expired || budget_cancelled(b);
}

bool budget_poll(struct budget *b)
{
	if (!b)
		return false;
	if (b->expired || budget_cancelled(b))
		return true;
	return ++b->polls % POLL_CALLS == 0 && budget_expired(b);
}

uint64_t budget_ns_left(struct budget *b)
{
	uint64_t spent;

	if (!b)
		return UINT64_MAX;
	spent = spent_now(b);
	return !budget_expired(b) && spent < b->ns_left ? b->ns_left - spent : 0;
}

void budget_restart(struct budget *b, uint64_t ns)
{
	if (b)
		budget_init(b, budget_bytes_left(b), ns);
}

void budget_cancel(struct budget *b)
{
	if (b)
		atomic_store_explicit(&b->cancelled, true, memory_order_relaxed);
}

void budget_hurry(struct budget *b, bool on)
{
	if (b)
		atomic_store_explicit(&b->hurried, on, memory_order_relaxed);
}

bool budget_cancelled(const struct budget *b)
{
	return b && (atomic_load_explicit(&b->cancelled, memory_order_relaxed) ||
		     atomic_load_explicit(&b->hurried, memory_order_relaxed));
}

static bool noted(const struct budget *b, const char *text)
{
	for (unsigned i = 0; i < b->n_notes; i++)
		if (!strcmp(b->note[i], text))
			return true;
	return false;
}

void budget_refuse(struct budget *b, uint64_t bytes, const char *fmt, ...)
{
	char text[BUDGET_NOTE_SIZE];
	va_list ap;

	if (!b || budget_cancelled(b))
		return;
	b->refused++;
	b->refused_bytes = bytes > UINT64_MAX - b->refused_bytes ? UINT64_MAX : b->refused_bytes + bytes;
	if (b->n_notes == BUDGET_NOTES)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!noted(b, text))
		memcpy(b->note[b->n_notes++], text, sizeof(text));
}
