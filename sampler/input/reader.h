#ifndef JS_INPUT_READER_H
#define JS_INPUT_READER_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct named_profile;

/*
 * Reads saved profiles: folded text (from jsampler, flamegraph.pl, async-profiler), pprof (from jsampler, Go,
 * async-profiler) and HPROF's text, each in gzip or not. The contents decide, except that files named .folded or
 * .collapsed are text. Files may be hostile: all lengths are limited, and errors give the position.
 *
 * Formats lack some things: folded text has counts of samples but no event. Its profile has event "samples", unit
 * "count", weights equal to the counts and period 1; C1 code has tier 0 (level unknown). A frame's suffix gives its
 * kind; without one, it is NAMED_UNKNOWN if it looks like Java, otherwise NAMED_NATIVE.
 */

/* A line that was skipped. */
struct reader_problem {
	uint64_t line; /* the first is 1 */
	char what[72]; /* "no count at its end" */
};

enum { READER_PROBLEMS = 8 };

/*
 * If a stack is deeper, the frames nearest the leaf are kept, below a root [truncated]. If a profile takes more memory,
 * further stacks count under [storage limit].
 */
enum { READER_DEPTH = 65536, READER_MEMORY = 256 << 20 };

struct reader_report {
	const char *format; /* "folded", "pprof" or "HPROF" */
	uint64_t lines; /* non-empty lines of text; 0: not text */
	uint64_t unreadable; /* of these, skipped ones */
	struct reader_problem first[READER_PROBLEMS]; /* the first of them */
	uint64_t truncated; /* stacks deeper than READER_DEPTH */
	uint64_t storage_limit; /* samples beyond READER_MEMORY */
};

/* Notes a skipped line; `what` is cut to fit. */
void reader_report_problem(struct reader_report *r, uint64_t line, const char *what);

/*
 * path: a file, or "-" for stdin. The caller frees *ret (named_profile_free()). Unreadable lines are skipped and
 * reported, unless most of them are unreadable; `report` may be NULL. An empty file is an empty profile. -EINVAL: not
 * a profile, or damaged (the message begins with the path and says where); -EFBIG: beyond the limits (pprof: 1 GiB
 * uncompressed); other errors: cannot be read.
 */
int reader_open_profile(const char *path, struct named_profile **ret, struct reader_report *report, struct err *err);

/* Likewise for a file open for reading; takes ownership of fd, even on failure. `name` is for messages. */
int reader_read_profile(int fd, const char *name, struct named_profile **ret, struct reader_report *report,
			struct err *err);

/* Likewise for bytes in memory (not in gzip); `name` is for messages. */
int reader_parse_profile(const void *bytes, size_t len, const char *name, struct named_profile **ret,
			 struct reader_report *report, struct err *err);

#endif
