#ifndef JS_STORE_STORE_H
#define JS_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/store/day/query.h"

struct err;

/*
 * What the daemon has counted, in a directory: one SQLite file for each UTC day and step (day.h). Samples are stored
 * in steps of STORE_STEP_S, and later added up to wider steps; each step has its own retention time, and expiring
 * means unlinking a file.
 *
 * Of a profile, the store keeps functions, lines, kinds, tiers, exactness, how methods were compiled, states, and
 * thread names with their digits replaced by '#'. It does not keep addresses, bytecode indices or thread ids.
 */
struct store;

struct store_options {
	uint32_t keep_s[STORE_STEPS]; /* retention of each step, finest first; 0: 48 h, 7 d, 30 d */
	uint64_t max_bytes; /* above it, the finest and oldest files are removed; 0: 5 GB */
	uint32_t free_percent; /* likewise if less of the file system is free; 0: 5 */
};

/*
 * Opens for writing; only one process at a time may (-EBUSY). Creates the directory if needed. Damaged files and
 * files of a newer version are set aside when they are found, with a message.
 */
int store_open(const char *dir, const struct store_options *o, struct store **ret, struct err *err);
void store_set_limits(struct store *s, const struct store_options *o); /* from now on */
/*
 * Adds the samples of one target and step, at np->meta.start_realtime_ns. They are durable once store_flush() has
 * succeeded; if either call fails, everything added since the last store_flush() is lost.
 */
int store_add(struct store *s, const struct store_target *t, const struct named_profile *np, struct err *err);
int store_flush(struct store *s, struct err *err);
/*
 * How often a frame or a thread was added without its name since the store was opened, because the target has more
 * names than there is room for (day_names.h). The first time is an event of the target, "names".
 */
uint64_t store_names_left_out(const struct store *s);
/*
 * While nobody adds to a history, it has a gap. store_kept_until(): the time of the last store_mark_kept() before this
 * store was opened (CLOCK_REALTIME); 0: there was none. `ended`: the daemon was stopped on purpose, so nothing will be
 * added for a while.
 */
void store_mark_kept(struct store *s, uint64_t now_ns, bool ended);
uint64_t store_kept_until(const struct store *s, bool *ret_ended);
/*
 * Adds an event at at_ns (CLOCK_REALTIME): its kind, such as "gap", and a sentence. t NULL: it concerns the whole host.
 * It becomes durable like store_add().
 */
int store_note(struct store *s, const struct store_target *t, uint64_t at_ns, const char *kind, const char *text,
	       struct err *err);
/*
 * Call from time to time: adds up steps that are complete at now_ns (CLOCK_REALTIME) to wider ones, and removes what
 * exceeds the limits of age and size. For an hour after opening, or after a jump of the clock, nothing expires by age.
 */
int store_tend(struct store *s, uint64_t now_ns, struct err *err);
/* Call every few seconds: makes files of finished days smaller, and faster to read (compactor.h). */
void store_compact(struct store *s);
void store_close(struct store *s);
uint64_t store_bytes(const char *dir); /* what its files take on disk */

/*
 * Opens everything that a query needs, so that store_view_read() opens, locks and creates no file (closed.h).
 * -ENOENT: no store. Unreadable files are left out, with a message.
 */
struct store_view;
int store_view_open(const char *dir, const struct store_query *q, struct store_view **ret, struct err *err);
/* A process that may have threads reads many days with two. */
void store_view_use_threads(struct store_view *v);
/* Samples of all targets in one profile, which the caller frees. Steps that overlap the range are included whole. */
int store_view_read(struct store_view *v, struct named_profile **ret, struct err *err);
/*
 * Calls `row` for the targets that have samples in the range, at most max; its argument is valid only during the call.
 * A result of `row` other than 0 ends this, and is returned.
 */
int store_view_targets(struct store_view *v, size_t max, store_row_fn *row, void *ctx, struct err *err);
/*
 * The events in the range, by time; target: its PID and labels, all 0 for the whole host. The query's event is ignored.
 */
int store_view_happenings(struct store_view *v, store_happening_fn *happening, void *ctx, struct err *err);

void store_view_close(struct store_view *v);

#endif
