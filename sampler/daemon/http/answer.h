#ifndef JS_HTTP_ANSWER_H
#define JS_HTTP_ANSWER_H

#include <stddef.h>
#include <stdint.h>

struct captures;
struct daemon_state;
struct err;
struct query;
struct ring;

/* The answer to a request. */
struct answer {
	unsigned status; /* of HTTP */
	const char *type; /* Content-Type */
	char *body; /* owned */
	size_t len;
};

struct answer_context {
	const char *store;
	struct captures *captures;
	struct ring *ring; /* the last hour */
	const struct daemon_state *state;
	uint32_t by; /* uid of the client, or CAPTURE_BY_NOBODY */
};

typedef int answer_fn(const struct answer_context *c, const struct query *q, struct answer *a, struct err *err);

/* Fill *a. 0, or -errno, and err says why; -EINVAL, -ENODATA and -ENOENT are errors of the client. */
answer_fn answer_targets, answer_events, answer_status, answer_profile, answer_pprof, answer_diff, answer_series,
	answer_heatmap, answer_health, answer_metrics, answer_captures, answer_capture, answer_capture_new;

/* {"error":"..."}, with the status that fits the code. */
void answer_error(struct answer *a, int code, const struct err *why);

#endif
