#ifndef JS_FEED_FEED_H
#define JS_FEED_FEED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/model/label.h"

struct buf;

/*
 * Messages from the worker to the keeper, as a stream. The worker parses what targets wrote, and may have been taken
 * over, so the reader checks everything: lengths and counts have limits, texts are text, and a target is introduced
 * before any message about it. A message that breaks a rule ends the stream; the next worker gets a new one.
 */
enum {
	FEED_VERSION = 1,
	FEED_BYTES_MAX = 16 << 20, /* of a message */
	FEED_TARGETS_MAX = 4096, /* at the same time; numbers are below it */
	FEED_LABELS_MAX = 32,
	FEED_KEY_MAX = 64,
	FEED_VALUE_MAX = 255, /* of a label */
	FEED_TEXT_MAX = 1000, /* of an event */
	FEED_BOOT_ID_MAX = 40,
};

/*
 * Profiles of the history have time slices of this width. Because samples come late, the first slice begins
 * FEED_LEAD_NS before the profile's start.
 */
#define FEED_SLICE_NS UINT64_C(20000000)
#define FEED_LEAD_NS UINT64_C(10000000000)

enum feed_kind {
	FEED_TARGET = 1, /* introduces a target under a number */
	FEED_PROFILE, /* of a target, for one step of time: pprof, not compressed */
	FEED_GONE, /* the target has ended, or is no longer sampled: its number may be reused */
	FEED_EVENT,
};

enum feed_event {
	FEED_GAP = 1, /* something was not sampled, or not stored */
	FEED_THROTTLE, /* the governor has changed a divisor */
	FEED_EXEC,
	FEED_LEFT_OUT, /* by a rule, or because the worker ended while working on its samples */
	FEED_EVENTS
};

struct feed_message {
	enum feed_kind kind;
	uint32_t target; /* its number; an event of the whole host has none: FEED_TARGETS_MAX */
	/* FEED_TARGET: a process is the same if boot, PID and start time are. */
	const char *boot_id;
	pid_t pid;
	uint64_t start_ticks, since_ns;
	const struct label *labels;
	size_t n_labels;
	/* FEED_PROFILE */
	const void *profile;
	size_t profile_len;
	/* FEED_EVENT */
	enum feed_event event;
	uint64_t time_ns; /* CLOCK_REALTIME */
	const char *text;
};

/* Appends the message to `b`. -EINVAL: it is beyond a limit; nothing is appended. -ENOMEM. */
int feed_write(const struct feed_message *m, struct buf *b);

struct feed_reader;

struct feed_reader *feed_reader_new(void); /* NULL: out of memory */
void feed_reader_free(struct feed_reader *r);
/* Bytes of the stream, as they come. -ENOMEM. */
int feed_reader_add(struct feed_reader *r, const void *bytes, size_t n);
/*
 * The next message, which is borrowed until the reader is called again. 1; 0: it is not complete yet; -EPROTO: the
 * stream breaks a rule, or memory ran out, and nothing more is read; -EPROTONOSUPPORT: another version. If it is called
 * until it returns 0 after each feed_reader_add(), at most one message is kept in memory.
 */
int feed_reader_next(struct feed_reader *r, struct feed_message *ret);

#endif
