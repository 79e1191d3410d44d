#ifndef JS_STORE_STORE_H
#define JS_STORE_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/model/label.h"

struct err;
struct named_profile;

/*
 * What the daemon has counted, in a directory: one SQLite file for each UTC day and step (day.h). Samples come in steps of
 * STORE_STEP_S, and are added up to wider steps later; each step is kept for a time of its own, and forgetting is unlinking.
 *
 * Of a profile, the store keeps functions, lines, kinds, tiers, exactness, how methods were compiled, states, and thread
 * names with their digits replaced by '#'. It does not keep addresses, bytecode indices and thread ids.
 */
struct store;

enum { STORE_STEP_S = 10, STORE_STEPS = 3 };

struct store_options {
	uint32_t keep_s[STORE_STEPS]; /* how long each step is kept, the finest first; 0: 48 h, 7 d, 30 d */
	uint64_t max_bytes; /* beyond it, the oldest and finest files go; 0: 5 GB */
	uint32_t free_percent; /* the same when less of the file system is free; 0: 5 */
};

/* A process is the same if boot, PID and start time are. */
struct store_target {
	const char *boot_id;
	pid_t pid;
	uint64_t start_ticks; /* since boot: proc(5), field 22 of stat */
	uint64_t since_ns; /* CLOCK_REALTIME when sampling it began */
	const struct label *labels;
	size_t n_labels;
};

/*
 * For writing, which one process at a time may do (-EBUSY). Makes the directory if there is none. Files that are damaged or
 * of a newer version are set aside when they are met, and that is said.
 */
int store_open(const char *dir, const struct store_options *o, struct store **ret, struct err *err);
/*
 * Adds what was counted of a target in one step, by np->meta.start_realtime_ns. It is kept once store_flush() has
 * succeeded; after a failure of either, what was added since the last store_flush() is lost.
 */
int store_add(struct store *s, const struct store_target *t, const struct named_profile *np, struct err *err);
int store_flush(struct store *s, struct err *err);
/*
 * To be called now and then: adds up to wider steps what is complete at now_ns (CLOCK_REALTIME), and forgets what is too old or
 * too much. When the clock has jumped, nothing is too old for an hour.
 */
int store_tend(struct store *s, uint64_t now_ns, struct err *err);
void store_close(struct store *s);

/* Part of a store, to be read. */
struct store_query {
	uint64_t from_ns, to_ns; /* CLOCK_REALTIME; to_ns is not part of it */
	const char *event;
	/* Targets that have each of these; values are patterns (glob.h). */
	const struct label *labels;
	size_t n_labels;
};

/*
 * Opens what a query needs, so that store_view_read() opens, locks and makes no file (closed.h). -ENOENT: there is no store.
 * Files that cannot be read are left out, and that is said.
 */
struct store_view;
int store_view_open(const char *dir, const struct store_query *q, struct store_view **ret, struct err *err);
/* Samples of all targets in one profile, which the caller frees. Steps that overlap the range count as a whole. */
int store_view_read(struct store_view *v, struct named_profile **ret, struct err *err);
void store_view_close(struct store_view *v);

#endif
