#ifndef JS_SESSION_BY_TIME_H
#define JS_SESSION_BY_TIME_H

#include <stdint.h>

struct bridge;
struct code;
struct hotspot;
struct timeline_code;
struct walk;

/*
 * Samples and the bridge's stream together: code that was thrown away between a sample and its walk is
 * found by time, and every code of the JVM's memory has its counterpart in the stream. For one JVM.
 */
struct by_time;

struct by_time *by_time_new(struct bridge *b, struct hotspot *hs); /* both borrowed; NULL: no memory */
void by_time_free(struct by_time *t); /* before hs; NULL is fine */

/* Before a walk: looks at code that has come, while it is there. */
void by_time_look(struct by_time *t);
/* After it. */
void by_time_note(struct by_time *t, const struct walk *w, uint64_t time_ns);

/* Before naming, when the stream has come: names methods that were only sampled. */
void by_time_finish(struct by_time *t);

/* What the stream told of a code: a resolver_code_fn. */
const struct timeline_code *by_time_code(void *ctx, const struct code *c);

struct by_time_stats {
	uint64_t gone, gone_methods; /* frames found by time only: compiled, interpreted */
};
struct by_time_stats by_time_stats(const struct by_time *t);

#endif
