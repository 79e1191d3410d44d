#include "sampler/engine/perf/copies/stack_rest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"

/* Reading costs about 0.2 ns per byte, so this is a few percent of a CPU. */
#define BYTES_PER_SECOND (UINT64_C(256) << 20)
#define MAPS_PAUSE_NS UINT64_C(5000000)
#define MAPS_FREE_NS                                                                                                   \
	UINT64_C(20000000) /* without a pause at first: a program that starts has new stacks all the time */
enum {
	PAGE = 4096, /* larger pages are read more than once */
	MAPS_SHARE = 20, /* reading the maps may take a twentieth of the time */
	TOUCHED_PAGE = 256, /* making a page present costs as much as reading this many bytes */
};

static int read_maps(struct stack_rest *r)
{
	uint64_t start = clock_monotonic_ns(), cost;
	int e = r->maps ? maps_refresh(r->maps) : maps_open(r->proc, r->memory, &r->maps, NULL);

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

static bool is_late(const struct stack_copy *copy, uint64_t now_ns)
{
	return now_ns > copy->time_ns && now_ns - copy->time_ns > STACK_REST_AGE_NS;
}

static bool is_unchanged(const struct stack_rest *r, const struct stack_copy *copy)
{
	uint64_t now = clock_monotonic_ns();
	size_t from = 0;

	/* The thread may have moved on during the read. */
	if (is_late(copy, now))
		return false;
	if (copy->in_kernel && copy->len > STACK_REST_RESULT && now < copy->time_ns + STACK_REST_AGE_NS / 10)
		from = STACK_REST_RESULT;
	return !memcmp(r->again + from, copy->bytes + from, copy->len - from);
}

static bool open_memory(struct stack_rest *r)
{
	if (!r->mem_open) {
		r->mem_fd = proc_file(r->proc, 0, "mem");
		r->mem_open = r->mem_fd >= 0;
	}
	return r->mem_open;
}

/*
 * Reads the copied part again, and `len` bytes beyond it, in one call so that as little as possible happens in
 * between. Returns how many of those bytes were read; negative: none can be used.
 */
static ssize_t read_again(struct stack_rest *r, const struct stack_copy *copy, uint8_t *dst, size_t len,
			  uint64_t now_ns)
{
	struct iovec to[] = {{NULL, copy->len}, {dst, len}};
	ssize_t n;

	if (copy->len > STACK_REST_COPY_MAX || is_late(copy, now_ns) || copy->addr > INT64_MAX || !open_memory(r))
		return -1;
	if (!r->again)
		r->again = malloc(STACK_REST_COPY_MAX);
	if (!r->again || !spend(r, copy->len + len, now_ns))
		return -1;
	to[0].iov_base = r->again;
	n = preadv(r->mem_fd, to, 2, (off_t)copy->addr);
	return n >= (ssize_t)copy->len && is_unchanged(r, copy) ? n - (ssize_t)copy->len : -1;
}

size_t stack_rest_read(struct stack_rest *r, const struct stack_copy *copy, uint8_t *dst, size_t len, uint64_t now_ns)
{
	ssize_t got = read_again(r, copy, dst, len, now_ns);

	return got > 0 ? (size_t)got : 0;
}

bool stack_rest_same(struct stack_rest *r, const struct stack_copy *copy, uint64_t now_ns)
{
	return copy->len && read_again(r, copy, NULL, 0, now_ns) == 0;
}

void stack_rest_touch(struct stack_rest *r, uint64_t from, uint64_t len, uint64_t now_ns)
{
	uint64_t end = from + len, at = from;
	uint8_t byte;

	if (end < from || end > INT64_MAX || !open_memory(r))
		return;
	for (size_t n = 0; at < end && n < STACK_REST_TOUCH && spend(r, TOUCHED_PAGE, now_ns); n++) {
		(void)!pread(r->mem_fd, &byte, 1, (off_t)at);
		at = (at / PAGE + 1) * PAGE;
	}
}

void stack_rest_exec(struct stack_rest *r)
{
	maps_close(r->maps);
	r->maps = NULL;
	r->maps_read_ns = r->maps_spent_ns = 0;
	if (r->mem_open)
		close(r->mem_fd);
	r->mem_open = false;
}

void stack_rest_done(struct stack_rest *r)
{
	stack_rest_exec(r);
	thread_stats_done(&r->cpus);
	free(r->again);
	r->again = NULL;
}

/* --- Ends */

/*
 * glibc keeps a thread's control block at the upper end of its stack, aligned to 64 bytes. Words 0 and 2 hold the
 * address of the block itself (tcbhead_t in sysdeps/x86_64/nptl/tls.h).
 */
enum {
	ALIGN = 64,
	HEAD = 24, /* bytes */
};

static bool is_block(uint64_t at, const uint8_t *bytes)
{
	uint64_t words[HEAD / 8];

	memcpy(words, bytes, sizeof(words));
	return words[0] == at && words[2] == at;
}

static uint64_t search(uint64_t addr, const uint8_t *bytes, size_t len)
{
	for (size_t i = -addr & (ALIGN - 1); i + HEAD <= len; i += ALIGN)
		if (is_block(addr + i, bytes + i))
			return addr + i;
	return 0;
}

static bool is_known(const struct stack_end *t, uint64_t addr, const uint8_t *bytes, size_t len)
{
	uint64_t off = t->block - addr;

	return t->block >= addr && len >= HEAD && off <= len - HEAD && is_block(t->block, bytes + off);
}

size_t stack_end_find(struct stack_ends *e, pid_t tid, uint64_t addr, const uint8_t *bytes, size_t len)
{
	struct stack_end *t = &e->threads[(unsigned)tid % STACK_END_THREADS];

	if (t->tid != tid || !is_known(t, addr, bytes, len))
		*t = (struct stack_end){tid, search(addr, bytes, len)};
	return t->block ? t->block - addr + HEAD : 0;
}
