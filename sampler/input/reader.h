#ifndef JS_INPUT_READER_H
#define JS_INPUT_READER_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct named_profile;

/*
 * Saved profiles back to named profiles. What is read is folded text (ours, flamegraph.pl's,
 * async-profiler's) and pprof (ours, Go's, async-profiler's), each as it is or in gzip; the
 * contents decide; what is named .folded or .collapsed is taken for text. Files may be hostile: every
 * length is bounded, errors name the place.
 *
 * What formats cannot say: folded text has counts of samples but no event. Its profile has event
 * "samples", unit "count", weights equal to the counts and period 1; C1 code has tier 0 (level not
 * known). A text frame's suffix gives its kind; one without is NAMED_UNKNOWN where it reads like
 * Java, else NAMED_NATIVE.
 */

/* A line that was skipped. */
struct reader_problem {
	uint64_t line; /* the first is 1 */
	char what[72]; /* "no count at its end" */
};

enum { READER_PROBLEMS = 8 };

struct reader_report {
	const char *format; /* "folded" or "pprof" */
	uint64_t lines; /* of text, but for empty ones; 0: no text */
	uint64_t unreadable; /* of them, skipped */
	struct reader_problem first[READER_PROBLEMS]; /* of them */
};

/*
 * path: a file, or "-" for stdin. *ret is the caller's (named_profile_free()). Lines that cannot be
 * read are skipped and reported, unless they are most; `report` may be NULL. An empty file is an empty
 * profile.
 * -EINVAL: not a profile, or damaged (the message begins with the path and says where); -EFBIG:
 * beyond the limits (pprof: 1 GiB unpacked); others: cannot be read.
 */
int reader_open_profile(const char *path, struct named_profile **ret, struct reader_report *report,
			struct err *err);

/* The same of bytes in memory (not in gzip); `name` is for messages. */
int reader_parse_profile(const void *bytes, size_t len, const char *name,
			 struct named_profile **ret, struct reader_report *report, struct err *err);

#endif
