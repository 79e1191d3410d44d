#include "sampler/store/stacks/renumber.h"

#include <errno.h>
#include <stdlib.h>

#include "sampler/store/stacks/dictionary.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/sorted.h"

enum { WORD = 64 };

void renumber_done(struct renumber *r)
{
	for (size_t i = 0; i < r->segments.n; i++) {
		free(r->segments.v[i].bits);
		free(r->segments.v[i].before);
		free(r->segments.v[i].rows);
		free(r->segments.v[i].numbers);
	}
	vec_done(&r->segments);
	buf_done(&r->plain);
	segment_taken_done(&r->rows);
}

int renumber_segment(struct renumber *r, int64_t first, uint32_t n)
{
	const struct renumber_segment *last = r->segments.n ? &r->segments.v[r->segments.n - 1] : NULL;
	struct renumber_segment s = {.first = (uint32_t)first, .n = n};

	if (first < 1 || !n || first + n > UINT32_MAX || (last && s.first != last->first + last->n))
		return -EBADMSG;
	return vec_push(&r->segments, s) ? 0 : -ENOMEM;
}

int renumber_segments(struct renumber *r, const uint32_t *first, size_t n, uint32_t count)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < n; i++)
		ret = renumber_segment(r, first[i], (i + 1 < n ? first[i + 1] : count) - first[i]);
	return ret;
}

static size_t words(const struct renumber_segment *s)
{
	return s->n / WORD + 1;
}

static bool is_in(const struct renumber_segment *s, uint32_t node)
{
	return node >= s->first && node - s->first < s->n;
}

/* NULL: there is none. */
static struct renumber_segment *segment_of(const struct renumber *r, uint32_t node)
{
	size_t i = first_above(r->segments.v, r->segments.n, first, node);

	return i && is_in(&r->segments.v[i - 1], node) ? &r->segments.v[i - 1] : NULL;
}

/* --- what is wanted --- */

static bool is_wanted(const struct renumber_segment *s, uint32_t i)
{
	return s->bits[i / WORD] >> i % WORD & 1;
}

static int want(struct renumber_segment *s, uint32_t i, bool *ret_new)
{
	if (!s->bits && !(s->bits = calloc(words(s), sizeof(*s->bits))))
		return -ENOMEM;
	*ret_new = !is_wanted(s, i);
	s->bits[i / WORD] |= UINT64_C(1) << i % WORD;
	return 0;
}

int renumber_want(struct renumber *r, uint32_t node, bool *ret_new)
{
	struct renumber_segment *s = node ? segment_of(r, node) : NULL;

	*ret_new = false;
	if (!node)
		return 0;
	return s ? want(s, node - s->first, ret_new) : -EBADMSG;
}

static int fetch(struct renumber *r, const struct renumber_segment *s, struct err *err)
{
	uint32_t n;
	int ret;

	buf_reset(&r->plain);
	ret = r->fetch(r->ctx, s->first, &r->plain, err);
	if (ret == 0)
		ret = segment_count_rows(&r->plain, DICT_NODES, s->first, &n);
	return ret == 0 && n != s->n ? -EBADMSG : ret;
}

/* Keeps the rows that are taken, and counts them. */
static int keep_rows(struct renumber *r, struct renumber_segment *s, uint32_t from)
{
	size_t n = s->n - from;
	uint32_t before = 0;

	r->taken += n;
	if (r->taken > r->max)
		return -E2BIG;
	s->rows = segment_taken_copy(&r->rows, from, s->n);
	s->numbers = calloc(n + 1, sizeof(*s->numbers));
	s->before = calloc(words(s), sizeof(*s->before));
	if (!s->rows || !s->numbers || !s->before)
		return -ENOMEM;
	for (size_t w = 0; w < words(s); w++) {
		s->before[w] = before;
		before += (uint32_t)__builtin_popcountll(s->bits[w]);
	}
	return 0;
}

/* From the last row to the first, since a caller comes before what it called. */
static int close_segment(struct renumber *r, struct renumber_segment *s, struct err *err)
{
	struct segment_rows rows;
	uint32_t to = s->n;
	bool ignored;
	int ret;

	if (!s->bits)
		return 0;
	ret = fetch(r, s, err);
	if (ret == 0 && !segment_taken_room(&r->rows, s->n))
		ret = -ENOMEM;
	if (ret == 0)
		segment_rows_begin(&rows, &r->plain, DICT_NODES);
	for (uint32_t i = s->n; ret == 0 && i-- > 0;) {
		uint32_t *row = r->rows.v + (size_t)(to - 1) * DICT_COLUMNS;

		if (!is_wanted(s, i)) {
			segment_rows_skip(&rows);
			continue;
		}
		to--;
		ret = segment_rows_take(&rows, s->first + i, row);
		if (ret == 0)
			ret = is_in(s, row[0]) ? want(s, row[0] - s->first, &ignored) :
						 renumber_want(r, row[0], &ignored);
	}
	return ret < 0 ? ret : keep_rows(r, s, to);
}

/* --- new numbers --- */

static uint32_t id_in(const struct renumber_segment *s, uint32_t i)
{
	uint64_t below = s->bits[i / WORD] & ((UINT64_C(1) << i % WORD) - 1);

	return is_wanted(s, i) ? s->numbers[s->before[i / WORD] + (uint32_t)__builtin_popcountll(below)] : 0;
}

uint32_t renumber_id(const struct renumber *r, uint32_t node)
{
	const struct renumber_segment *s = node ? segment_of(r, node) : NULL;

	return s && s->numbers ? id_in(s, node - s->first) : 0;
}

static int number_segment(struct renumber *r, struct renumber_segment *s)
{
	uint32_t *row = s->rows, n = 0;

	for (uint32_t i = 0; s->bits && i < s->n; i++) {
		if (!is_wanted(s, i))
			continue;
		row[0] = is_in(s, row[0]) ? id_in(s, row[0] - s->first) : renumber_id(r, row[0]);
		if (dictionary_depth(r->to, row[0]) >= DICT_DEPTH_MAX)
			return -EBADMSG;
		s->numbers[n] = dictionary_id(r->to, DICT_NODES, row);
		if (s->numbers[n++] == UINT32_MAX)
			return -ENOMEM;
		row += DICT_COLUMNS;
	}
	free(take_ptr(s->rows));
	return 0;
}

/* All segments are closed, from the last to the first, and then numbered from the first to the last. */
int renumber_some(struct renumber *r, struct err *err)
{
	size_t n = r->segments.n, i = r->made;
	int ret;

	if (i == 2 * n)
		return 0;
	ret = i < n ? close_segment(r, &r->segments.v[n - 1 - i], err) : number_segment(r, &r->segments.v[i - n]);
	r->made++;
	return ret < 0 ? ret : 1;
}
