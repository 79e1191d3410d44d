#ifndef JS_STORE_STORE_SERIES_H
#define JS_STORE_STORE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/store/store.h"

/* Samples over time, in cells. */
struct store_cell {
	uint64_t samples, weight;
};

enum store_split { STORE_WHOLE, STORE_BY_KIND, STORE_BY_TARGET, STORE_BY_LABEL };

struct store_series_query {
	uint32_t step_s; /* width of a cell: 10, 60, or a multiple of 600 */
	enum store_split
		split; /* a row for each: kind of the leaf, target, or value of the label `key` ("" where it is missing) */
	const char *key;
	/*
	 * NULL: rows count all samples. Otherwise they count samples with a function for which this returns 1. It is
	 * called once for each function of a file; -ETIME ends the reading.
	 */
	int (*wants)(void *ctx, const char *function, struct err *err);
	void *ctx;
	bool self; /* it must be the leaf */
	size_t max; /* limit of rows; the samples of further rows are in store_series.rest */
};

struct store_series_row {
	enum named_kind kind; /* STORE_BY_KIND */
	const char *name; /* STORE_BY_LABEL; otherwise NULL */
	struct store_target target; /* STORE_BY_TARGET; otherwise 0 */
	struct store_cell *cells;
};

struct store_series {
	uint64_t from_s; /* where the first cell begins */
	uint32_t step_s, n_cells; /* step_s is wider than requested if the store has only wider steps for that time */
	struct store_series_row *rows;
	size_t n_rows;
	struct store_cell *all; /* samples of all targets that match, whatever their functions */
	struct store_cell *rest; /* NULL: no row is left out */
};

enum { STORE_CELLS_MAX = 2000 };

/* *ret is freed by store_series_free(). -EINVAL: more than STORE_CELLS_MAX cells. No samples: no rows. */
int store_view_series(struct store_view *v, const struct store_series_query *q, struct store_series **ret,
		      struct err *err);
void store_series_free(struct store_series *s); /* NULL is allowed */

#endif
