#ifndef JS_CAPTURES_CAPTURES_H
#define JS_CAPTURES_CAPTURES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct named_profile;

/*
 * Recordings of single targets on request, at another frequency than that of the history. A thread that answers
 * requests starts one here. The keeper passes the request on to the daemon's first process, which decides. The samples
 * come back in pieces, which are added up and kept as a file in the store's directory. Any thread may call these
 * functions.
 */
struct captures;

enum {
	CAPTURE_HZ = 99, /* default, as is the next */
	CAPTURE_SECONDS = 30,
	CAPTURE_HZ_MAX = 1000,
	CAPTURE_SECONDS_MAX = 600,
	CAPTURES_AT_ONCE = 4,
	CAPTURES_KEPT = 200, /* files; the oldest go first */
	CAPTURE_WHY = 160,
};
#define CAPTURES_BYTES (UINT64_C(256) << 20) /* of these files */
#define CAPTURE_BYTES (UINT64_C(64) << 20) /* of one capture: of all its pieces, and of their sum in memory */

struct capture_request {
	int32_t pid;
	uint32_t hz, seconds;
	uint32_t by; /* uid of the client; CAPTURE_BY_NOBODY: not known */
	uint64_t start; /* start time of the process as in the history; 0: whichever process has the PID */
};
#define CAPTURE_BY_NOBODY UINT32_MAX

enum capture_state { CAPTURE_RUNNING, CAPTURE_DONE, CAPTURE_FAILED };

struct capture {
	uint64_t id; /* when it was requested, in ms since 1970 */
	enum capture_state state;
	struct capture_request request;
	uint64_t bytes; /* of its file */
	char why[CAPTURE_WHY]; /* CAPTURE_FAILED, or why it is shorter than it should be */
};

/* dir: of the files; borrowed. ask: passes a request on; 0 or -errno. NULL: out of memory. */
struct captures *captures_new(const char *dir, int (*ask)(void *ctx, uint64_t id, const struct capture_request *r),
			      void *ctx);
void captures_free(struct captures *c);

/*
 * Waits at most two seconds until the first process has started the capture or refused it. 0; -EINVAL: out of range;
 * -EBUSY: too many at the same time; -EALREADY: one of this process is running; -ENODATA: refused, err says why.
 */
int captures_start(struct captures *c, const struct capture_request *r, uint64_t *ret_id, struct err *err);
void captures_began(struct captures *c, uint64_t id);
void captures_refused(struct captures *c, uint64_t id, int code, const char *why); /* code: -errno */

/*
 * Adds a piece. -EFBIG: the capture has become too large and has to end; -ENOENT: there is no such capture, or it is
 * not running; -ENOMEM.
 */
int captures_piece(struct captures *c, uint64_t id, const struct named_profile *np, size_t bytes);
/* Describes the capture in a sentence. */
void captures_describe(struct captures *c, uint64_t id, char *dst, size_t size);
/* No more pieces come. The pieces so far are kept; without any, the capture has failed. */
void captures_ended(struct captures *c, uint64_t id);

/* The newest first. The caller frees *ret. 0 or -errno. */
int captures_list(struct captures *c, struct capture **ret, size_t *ret_n);
/*
 * -ENOENT: there is no such capture, or it is no longer kept; -EAGAIN: it is still running; -ENODATA: it has failed.
 * err says which.
 */
int captures_read(struct captures *c, uint64_t id, struct named_profile **ret, struct err *err);

#endif
