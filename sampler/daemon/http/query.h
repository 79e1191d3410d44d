#ifndef JS_HTTP_QUERY_H
#define JS_HTTP_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/model/label.h"
#include "sampler/store/store.h"
#include "sampler/store/store_series.h"

struct err;
struct writer;

/* The arguments of a request; texts are borrowed. */
enum { QUERY_LABELS = 16, QUERY_VALUE_MAX = 256 };

struct query_target { /* BOOT:PID:START */
	char boot_id[40];
	pid_t pid; /* 0: not given */
	uint64_t start_ticks;
};

struct query {
	uint64_t from_ns, to_ns; /* CLOCK_REALTIME; 0: not given */
	const char *event; /* NULL: not given */
	struct label labels[QUERY_LABELS]; /* values are patterns */
	size_t n_labels;
	struct query_target target;
	const char *format; /* NULL: not given */
	const struct writer *writer; /* NULL: not given, or not one of a profile */
	/* Of /api/v1/diff: the values for the other side. */
	uint64_t against_ns; /* where its range begins; 0: not given */
	uint64_t against_to_ns; /* set by query_end() */
	struct label against[2 * QUERY_LABELS]; /* query_end() adds labels that it shares */
	size_t n_against;
	struct query_target against_target;
	uint32_t seconds; /* of /debug/pprof/profile and /api/v1/captures; 0: not given */
	/* Of /api/v1/captures. */
	uint32_t hz; /* 0: not given */
	uint64_t capture; /* of its path; 0: none */
	/* Of /api/v1/series. */
	const char *method; /* regular expression (symbolizer/patterns/regex.h); NULL: not given */
	bool self;
	enum store_split split; /* STORE_WHOLE: not given */
	const char *split_key; /* of STORE_BY_LABEL */
	uint32_t step_s; /* 0: not given */
	/* Only for the last hour in memory. */
	uint64_t cell_ns; /* step=20ms; 0: another one */
	bool exact;
	const char *thread; /* regular expression; NULL: not given */
};

/* Takes one argument, already decoded. -EINVAL: err says what is right. */
int query_add(struct query *q, const char *key, const char *value, uint64_t now_ns, struct err *err);
/* Fills in what was not given. -EINVAL: no range. */
int query_end(struct query *q, uint64_t now_ns, struct err *err);
/* -EINVAL: the query has an argument for the last hour in memory, but its answer does not come from there. */
enum query_recent { QUERY_STORED, QUERY_RECENT_PROFILE, QUERY_RECENT_CELLS };
int query_check_recent(const struct query *q, enum query_recent has, struct err *err);

void query_of_store(const struct query *q, struct store_query *ret); /* borrows from q, as the next */
void query_of_store_against(const struct query *q, struct store_query *ret); /* the other side of /api/v1/diff */

#endif
