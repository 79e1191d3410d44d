#include "sampler/engine/perf/stack_rest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"

/* Reading costs about 0.2 ns a byte: at most some percent of a CPU. */
#define BYTES_PER_SECOND (UINT64_C(256) << 20)
#define MAPS_PAUSE_NS UINT64_C(5000000)
#define MAPS_FREE_NS UINT64_C(20000000) /* a program that starts has new stacks all the time */
enum {
	PAGE = 4096, /* larger ones are read more than once */
	MAPS_SHARE = 20, /* of the time may go into reading them */
	TOUCHED_PAGE = 256, /* what a page that is made present costs, in bytes that are read */
};

static int read_maps(struct stack_rest *r)
{
	uint64_t start = clock_monotonic_ns(), cost;
	int e = r->maps ? maps_refresh(r->maps) : maps_open_within(r->proc, r->memory, &r->maps, NULL);

	cost = clock_monotonic_ns() - start;
	r->maps_spent_ns += cost;
	r->maps_pause_ns = cost * MAPS_SHARE > MAPS_PAUSE_NS ? cost * MAPS_SHARE : MAPS_PAUSE_NS;
	if (r->maps_spent_ns < MAPS_FREE_NS)
		r->maps_pause_ns = 0;
	return e;
}

static const struct mapping *find_mapping(struct stack_rest *r, uint64_t addr, uint64_t now_ns)
{
	const struct mapping *m = r->maps ? maps_find(r->maps, addr) : NULL;

	if (m || (r->maps_read_ns && now_ns - r->maps_read_ns < r->maps_pause_ns))
		return m;
	/* New threads have new stacks. */
	r->maps_read_ns = now_ns;
	return read_maps(r) ? NULL : maps_find(r->maps, addr);
}

uint64_t stack_rest_beyond(struct stack_rest *r, uint64_t end, uint64_t now_ns)
{
	const struct mapping *m = find_mapping(r, end - 1, now_ns);

	if (!m)
		return STACK_REST_UNKNOWN;
	if (!(m->flags & MAP_W) || end >= m->end)
		return 0;
	return m->end - end;
}

static bool spend(struct stack_rest *r, size_t len, uint64_t now_ns)
{
	uint64_t passed = now_ns - r->budget_ns;

	if (!r->budget_ns || passed >= 1000000000)
		r->budget = BYTES_PER_SECOND;
	else
		r->budget += BYTES_PER_SECOND / 1000 * (passed / 1000000);
	if (!r->budget_ns || passed >= 1000000)
		r->budget_ns = now_ns;
	if (r->budget > BYTES_PER_SECOND)
		r->budget = BYTES_PER_SECOND;
	if (r->budget < len)
		return false;
	r->budget -= len;
	return true;
}

/* Both parts by one call, so that nothing can come between them but the thread itself. */
static size_t read_parts(struct stack_rest *r, const struct stack_copy *copy, uint8_t *dst, size_t len)
{
	struct iovec local[] = {{r->again, copy->len}, {dst, len}};
	struct iovec remote = {(void *)(uintptr_t)copy->addr, copy->len + len};
	ssize_t n = process_vm_readv(proc_pid(r->proc), local, 2, &remote, 1, 0);

	return n > (ssize_t)copy->len ? (size_t)n - copy->len : 0;
}

static bool is_late(const struct stack_copy *copy, uint64_t now_ns)
{
	return now_ns > copy->time_ns && now_ns - copy->time_ns > STACK_REST_AGE_NS;
}

static bool is_unchanged(const struct stack_rest *r, const struct stack_copy *copy)
{
	uint64_t now = clock_monotonic_ns();
	size_t from = 0;

	/* The thread may have gone on while it was read. */
	if (is_late(copy, now))
		return false;
	if (copy->in_kernel && copy->len > STACK_REST_RESULT &&
	    now < copy->time_ns + STACK_REST_AGE_NS / 10)
		from = STACK_REST_RESULT;
	return !memcmp(r->again + from, copy->bytes + from, copy->len - from);
}

static size_t read_rest(struct stack_rest *r, const struct stack_copy *copy, uint8_t *dst, size_t len,
			uint64_t now_ns)
{
	size_t got;

	if (copy->len > STACK_REST_COPY_MAX || is_late(copy, now_ns))
		return 0;
	if (!r->again)
		r->again = malloc(STACK_REST_COPY_MAX);
	if (!r->again || !spend(r, copy->len + len, now_ns))
		return 0;
	got = read_parts(r, copy, dst, len);
	return got && is_unchanged(r, copy) ? got : 0;
}

size_t stack_rest_read(struct stack_rest *r, const struct stack_copy *copy, uint8_t *dst, size_t len,
		       uint64_t now_ns)
{
	size_t got = read_rest(r, copy, dst, len, now_ns);

	if (got)
		r->joined++;
	else
		r->refused++;
	return got;
}

bool stack_rest_same(struct stack_rest *r, const struct stack_copy *copy, uint64_t now_ns)
{
	struct iovec local = {NULL, copy->len}, remote = {(void *)(uintptr_t)copy->addr, copy->len};

	if (!copy->len || copy->len > STACK_REST_COPY_MAX || is_late(copy, now_ns) || !spend(r, copy->len, now_ns))
		return false;
	if (!r->again)
		r->again = malloc(STACK_REST_COPY_MAX);
	local.iov_base = r->again;
	return r->again &&
	       process_vm_readv(proc_pid(r->proc), &local, 1, &remote, 1, 0) == (ssize_t)copy->len &&
	       is_unchanged(r, copy);
}

void stack_rest_touch(struct stack_rest *r, uint64_t from, uint64_t len, uint64_t now_ns)
{
	uint8_t bytes[STACK_REST_TOUCH];
	struct iovec local = {bytes, 0}, remote[STACK_REST_TOUCH];
	size_t n = 0;

	for (uint64_t at = from; at < from + len && at >= from && n < STACK_REST_TOUCH; at = (at / PAGE + 1) * PAGE)
		remote[n++] = (struct iovec){(void *)(uintptr_t)at, 1};
	local.iov_len = n;
	if (n && spend(r, n * TOUCHED_PAGE, now_ns))
		(void)!process_vm_readv(proc_pid(r->proc), &local, 1, remote, n, 0);
}

void stack_rest_exec(struct stack_rest *r)
{
	maps_close(r->maps);
	r->maps = NULL;
	r->maps_read_ns = r->maps_spent_ns = 0;
}

void stack_rest_done(struct stack_rest *r)
{
	stack_rest_exec(r);
	free(r->again);
	r->again = NULL;
}
