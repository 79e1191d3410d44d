#ifndef JS_STORE_DAY_QUERY_H
#define JS_STORE_DAY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/model/label.h"
#include "sampler/model/named_profile.h"

struct err;

/* What is asked of a history, and the answers: for all of it (store.h), and for the file of one day. */

enum { STORE_STEP_S = 10, STORE_STEPS = 3 };

/* Identified by boot, PID and start time. */
struct store_target {
	const char *boot_id;
	pid_t pid;
	uint64_t start_ticks; /* target_id.h */
	uint64_t since_ns; /* CLOCK_REALTIME when sampling it began */
	const struct label *labels;
	size_t n_labels;
};

/* Selects part of a store for reading. */
struct store_query {
	uint64_t from_ns, to_ns; /* CLOCK_REALTIME; to_ns is exclusive */
	const char *event;
	/* Only targets that have all of these; values are patterns (glob.h). */
	const struct label *labels;
	size_t n_labels;
	/* Only this one (struct store_target). pid 0: any. */
	const char *boot_id;
	pid_t pid;
	uint64_t start_ticks;
};

bool store_query_takes(const struct store_query *q, const struct store_target *t);

/* A target that has samples in a range. */
struct store_row {
	struct store_target target;
	uint64_t first_s, last_s; /* of their samples, in whole steps; last_s is exclusive */
	uint64_t samples, weight;
	uint64_t period; /* of its last samples; 0: it varies */
	uint64_t by_kind[NAMED_KINDS]; /* the weight, by how the leaf ran */
};
/* Its argument is valid only during the call. A result other than 0 ends the reading, and is returned. */
typedef int store_row_fn(void *ctx, const struct store_row *row);

/* An event. target: its PID and labels, all 0 for the whole host. */
struct store_happening {
	uint64_t at_ns;
	const char *kind, *text;
	struct store_target target;
};
typedef int store_happening_fn(void *ctx, const struct store_happening *h);

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

void store_series_free(struct store_series *s); /* NULL is allowed */

#endif
