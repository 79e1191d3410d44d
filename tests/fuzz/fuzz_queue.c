/*
 * A queue of samples in memory that another process writes to as well. Each step is a byte, which says what one of the
 * ends does, or, with the offset and the value that follow it, what is overwritten. Neither end may leave the queue.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/engine/sample_queue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES = 4096, ENDS = 4096, STEPS_MAX = 512 };
enum { OVERWRITE, PUT, TAKE, DROP, KINDS };

static uint8_t *memory; /* all that the other end can write to */

static const uint8_t *overwrite(const uint8_t *at, const uint8_t *end)
{
	uint16_t where;

	if (end - at < 10)
		return end;
	memcpy(&where, at, sizeof(where));
	/* Most of the first page is unused. */
	memcpy(memory + (where < ENDS ? where / 8 * 8 % 128 : where % (ENDS + BYTES - 8)), at + 2, 8);
	return at + 10;
}

static void check(const uint8_t *p, size_t len)
{
	if (p < memory + ENDS || p > memory + ENDS + BYTES || len > (size_t)(memory + ENDS + BYTES - p))
		abort();
}

static void put(struct sample_queue *q, size_t len)
{
	uint8_t *p = sample_queue_reserve(q, len);

	if (!p)
		return;
	check(p, len);
	memset(p, 'x', len);
	sample_queue_commit(q, len * 2);
}

static void take(struct sample_queue *q)
{
	size_t len;
	const uint8_t *p = sample_queue_peek(q, &len);

	if (!p)
		return;
	check(p, len);
	sample_queue_release(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sample_queue *q = sample_queue_new_shared(BYTES);
	const uint8_t *at = data, *end = data + size;

	if (!q)
		return 0;
	memory = (uint8_t *)sample_queue_reserve(q, 8) - 8 - ENDS; /* the first message follows its header */
	for (int i = 0; i < STEPS_MAX && at < end; i++) {
		uint8_t step = *at++;

		switch (step % KINDS) {
		case OVERWRITE: at = overwrite(at, end); break;
		case PUT: put(q, (size_t)step * 5); break;
		case TAKE: take(q); break;
		default: sample_queue_drop(q); break;
		}
	}
	sample_queue_free(q);
	return 0;
}
