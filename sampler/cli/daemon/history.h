#ifndef JS_CLI_HISTORY_H
#define JS_CLI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/model/label.h"

struct err;
struct named_profile;
struct option_spec;
struct store_view;

/*
 * Reads the daemon's history instead of files: the options --since, --until, --service, --label, --event, --store,
 * --socket and, for two ranges, --against.
 */
enum { HISTORY_LABELS = 16, HISTORY_NAME = 64 };

struct history_range {
	uint64_t from_ns, to_ns;
	char name[HISTORY_NAME]; /* for messages: "2026-11-24 03:00:00 for 600 s" */
	struct store_view *view; /* of --store */
	int fd, answer; /* without --store: the daemon's socket; a file in memory for its answer, which may be in gzip */
};

struct history {
	const char *since, *until, *against; /* as given */
	struct label labels[HISTORY_LABELS]; /* owned: one string each */
	size_t n_labels;
	const char *event; /* NULL: cpu */
	const char *store, *socket;
	bool given; /* any of the options */

	struct history_range ranges[2]; /* [0]: of --since and --until; since history_check() */
	unsigned n_ranges;
};

/* Stores the option, if it is one of these. 1; 0: it is another; -EINVAL. */
int history_take(struct history *h, const struct option_spec *s, const char *arg, struct err *err);
/*
 * Checks the options once all were read. two: there is a second range. It is as long as the first and begins at
 * --against; by default, it ends where the first one begins. -EINVAL.
 */
int history_check(struct history *h, bool two, struct err *err);

/* Opens all that is needed: the daemon's socket, or the files of --store. To be called before the process is closed. */
int history_open(struct history *h, struct err *err);
/* The caller frees *ret. */
int history_read(struct history *h, unsigned range, struct named_profile **ret, struct err *err);
void history_done(struct history *h);

#endif
