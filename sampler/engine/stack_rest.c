#include "sampler/engine/stack_rest.h"

#include <string.h>
#include <sys/uio.h>

#include "symbolizer/target/maps.h"
#include "symbolizer/target/proc.h"

/* Reading costs about 0.2 ns a byte: at most some percent of a CPU. */
#define BYTES_PER_SECOND (UINT64_C(128) << 20)
#define MAPS_PAUSE_NS UINT64_C(100000000)

static const struct mapping *find_mapping(struct stack_rest *r, uint64_t addr, uint64_t now_ns)
{
	const struct mapping *m = r->maps ? maps_find(r->maps, addr) : NULL;

	if (m || (r->maps_read_ns && now_ns - r->maps_read_ns < MAPS_PAUSE_NS))
		return m;
	/* New threads have new stacks. */
	r->maps_read_ns = now_ns;
	if (r->maps ? maps_refresh(r->maps) : maps_open(r->proc, &r->maps, NULL))
		return NULL;
	return maps_find(r->maps, addr);
}

size_t stack_rest_wanted(struct stack_rest *r, uint64_t end, uint64_t now_ns)
{
	const struct mapping *m = find_mapping(r, end - 1, now_ns);

	if (!m || !(m->flags & MAP_W) || end >= m->end)
		return 0;
	return m->end - end < STACK_REST_MAX ? m->end - end : STACK_REST_MAX;
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

size_t stack_rest_read(struct stack_rest *r, uint64_t end, const uint8_t *copied_end, uint8_t *dst,
		       size_t len, uint64_t now_ns)
{
	uint8_t again[STACK_REST_OVERLAP];
	struct iovec local[] = {{again, sizeof(again)}, {dst, len}};
	struct iovec remote = {(void *)(uintptr_t)(end - sizeof(again)), sizeof(again) + len};
	ssize_t n = -1;

	if (spend(r, len, now_ns))
		n = process_vm_readv(proc_pid(r->proc), local, 2, &remote, 1, 0);
	if (n <= (ssize_t)sizeof(again) ||
	    memcmp(again, copied_end - sizeof(again), sizeof(again))) {
		r->refused++;
		return 0;
	}
	r->joined++;
	return (size_t)n - sizeof(again);
}

void stack_rest_done(struct stack_rest *r)
{
	maps_close(r->maps);
	r->maps = NULL;
}
