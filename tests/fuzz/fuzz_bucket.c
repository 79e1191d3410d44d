/* A day of the history: pieces of its dictionary (table, length, bytes), then a bucket that refers to it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/stacks/bucket.h"
#include "sampler/store/stacks/dictionary.h"
#include "symbolizer/base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEGMENTS = 8 };

/* What is left of the input. */
static size_t load_dictionary(struct dictionary *d, const uint8_t *data, size_t size)
{
	for (int i = 0; i < SEGMENTS && size >= 2; i++) {
		enum dictionary_table t = data[0] % DICT_TABLES;
		size_t len = data[1] < size - 2 ? data[1] : size - 2;

		if (dictionary_load(d, t, dictionary_count(d, t), data + 2, len) < 0)
			break;
		data += 2 + len;
		size -= 2 + len;
	}
	return size;
}

/* All that a count refers to is there. */
static void follow(const struct dictionary *d, const struct bucket_count *c)
{
	uint32_t frames = 0;

	if (c->node >= dictionary_count(d, DICT_NODES) || c->label >= dictionary_count(d, DICT_LABELS))
		abort();
	for (uint32_t n = c->node; n; n = dictionary_row(d, DICT_NODES, n)[0]) {
		const uint32_t *frame = dictionary_row(d, DICT_FRAMES, dictionary_row(d, DICT_NODES, n)[1]);
		const uint32_t *function = dictionary_row(d, DICT_FUNCTIONS, frame[0]);

		frames += strtab_get(d->strings, function[0]) != NULL;
	}
	if (frames != dictionary_depth(d, c->node))
		abort();
}

static void require_equal(const struct bucket *a, const struct bucket *b)
{
	if (a->n != b->n || a->period != b->period || memcmp(a->sums, b->sums, sizeof(a->sums)) != 0 ||
	    (a->n && memcmp(a->counts, b->counts, a->n * sizeof(*a->counts)) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dictionary *d = dictionary_new();
	struct bucket b = {0}, again = {0};
	struct buf written = {0};
	size_t left;

	if (!d)
		return 0;
	left = load_dictionary(d, data, size);
	if (bucket_read(&b, data + size - left, left, dictionary_count(d, DICT_NODES),
			dictionary_count(d, DICT_LABELS)) == 0) {
		for (uint32_t i = 0; i < b.n; i++)
			follow(d, &b.counts[i]);
		bucket_write(&b, &written);
		if (bucket_read(&again, written.data, written.len, dictionary_count(d, DICT_NODES),
				dictionary_count(d, DICT_LABELS)) < 0)
			abort();
		require_equal(&b, &again);
	}
	bucket_done(&b);
	bucket_done(&again);
	buf_done(&written);
	dictionary_free(d);
	return 0;
}
