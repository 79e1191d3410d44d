/* What the worker tells the keeper, of a worker that was taken over. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/daemon/feed/feed.h"
#include "symbolizer/base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was understood can be written, and is the same bytes again. */
static void write_again(const struct feed_message *m, struct buf *b)
{
	if (m->target > FEED_TARGETS_MAX || feed_write(m, b) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed_reader *r = feed_reader_new();
	struct feed_message m;
	struct buf again = {0};
	size_t half = size / 2;

	if (!r || feed_reader_add(r, data, half) < 0)
		abort();
	while (feed_reader_next(r, &m) > 0)
		write_again(&m, &again);
	feed_reader_add(r, data + half, size - half);
	while (feed_reader_next(r, &m) > 0)
		write_again(&m, &again);
	if (again.len > size || (again.len && memcmp(again.data, data, again.len) != 0))
		abort();
	buf_done(&again);
	feed_reader_free(r);
	return 0;
}
