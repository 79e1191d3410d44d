/* Samples over time: the cells of rows, and how they are joined in the end. */
#include "sampler/store/day/series.h"

#include <errno.h>
#include <stdlib.h>

#include "sampler/store/day/day.h"
#include "symbolizer/base/err.h"

static uint32_t widest_step(void)
{
	return day_steps[STORE_STEPS - 1].seconds;
}

static uint64_t round_down(uint64_t at, uint64_t width)
{
	return at - at % width;
}

int series_begin(const struct store_query *chosen, const struct store_series_query *q, struct series **ret,
		 struct err *err)
{
	uint64_t width = q->step_s, align = width > widest_step() ? width : widest_step();
	uint64_t from_s = round_down(chosen->from_ns / 1000000000, align), to_s = (chosen->to_ns - 1) / 1000000000 + 1;
	uint64_t cells = to_s > from_s ? (to_s - from_s + width - 1) / width : 0;
	struct series *s;

	if (cells > STORE_CELLS_MAX + align / width)
		return err_set(err, -EINVAL, "more than %d cells: choose a shorter range or a larger step",
			       STORE_CELLS_MAX);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->q = q;
	s->chosen = chosen;
	s->pub.from_s = from_s;
	s->pub.step_s = q->step_s;
	s->pub.n_cells = (uint32_t)cells;
	s->pub.all = arena_alloc(&s->memory, (cells + 1) * sizeof(struct store_cell));
	if (!s->pub.all) {
		store_series_free(&s->pub);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = s;
	return 0;
}

void store_series_free(struct store_series *pub)
{
	struct series *s = (struct series *)pub; /* its first member */

	if (!s)
		return;
	arena_done(&s->memory);
	free(s->pub.rows);
	free(s);
}

/* --- the end --- */

/* Cells [skip, n), `by` of them made one. */
static void join(struct store_cell *cells, uint32_t n, uint32_t skip, uint32_t by)
{
	uint32_t to = 0;

	for (uint32_t i = skip; cells && i < n; i += by, to++) {
		struct store_cell sum = {0};

		for (uint32_t k = i; k < n && k < i + by; k++) {
			sum.samples += cells[k].samples;
			sum.weight += cells[k].weight;
		}
		cells[to] = sum;
	}
}

void series_end(struct series *s)
{
	struct store_series *p = &s->pub;
	uint32_t by = s->widest_s > p->step_s ? s->widest_s / p->step_s : 1;
	uint32_t width = by * p->step_s;
	uint64_t first = round_down(s->chosen->from_ns / 1000000000, width);
	uint32_t skip = first > p->from_s ? (uint32_t)((first - p->from_s) / p->step_s) : 0;

	join(p->all, p->n_cells, skip, by);
	join(p->rest, p->n_cells, skip, by);
	for (size_t i = 0; i < p->n_rows; i++)
		join(p->rows[i].cells, p->n_cells, skip, by);
	p->n_cells = p->n_cells > skip ? (p->n_cells - skip + by - 1) / by : 0;
	p->from_s += (uint64_t)skip * p->step_s;
	p->step_s = width;
}
