#ifndef JS_PEER_TIMELINE_H
#define JS_PEER_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;
struct wire_record;

/*
 * What the bridge reported, by time: which compiled code was where and when, and the names of methods. Names are kept
 * after their classes are unloaded. Not thread-safe. Memory is bounded: beyond the limit nothing new is kept, and the
 * drops are counted.
 */
struct timeline;

#define TIMELINE_ALIVE UINT64_MAX

struct timeline_code {
	uint64_t begin;
	uint32_t size;
	uint32_t method; /* method number, 0: unknown */
	uint64_t from, to; /* CLOCK_MONOTONIC of this program, ns; TIMELINE_ALIVE */
	uint32_t n_scopes, n_ranges;
	const struct timeline_scope *scopes;
	const struct timeline_range *ranges;
	uint32_t replay; /* the last replay that contained it */
	bool added; /* reported by an event, not by a replay */
	struct timeline_note {
		int32_t frame_size, tier;
		uint32_t code_id;
	} note; /* for the caller's use; initially all 0 */
};

struct timeline_scope {
	uint32_t parent; /* WIRE_NONE: outermost */
	uint32_t method; /* number */
	int32_t bci, line;
};

struct timeline_range {
	uint32_t end, scope;
};

struct timeline_method {
	const char *class_name, *name, *signature; /* UTF-8, in HotSpot's form (slashes) */
	const char *source_file; /* NULL: none */
};

struct timeline *timeline_new(void);
/* Memory is also taken from `b`, borrowed; records that exceed it are dropped. */
void timeline_set_budget(struct timeline *t, struct budget *b);
void timeline_free(struct timeline *t);

/* Added to each record's time: converts the target's clock to ours. */
void timeline_set_offset(struct timeline *t, int64_t ns);

/* 0 (unknown records are ignored); -EPROTO: malformed; -ENOMEM. */
int timeline_feed(struct timeline *t, const struct wire_record *r);

/* The code at a pc at a time; NULL: none known. */
struct timeline_code *timeline_find(const struct timeline *t, uint64_t pc, uint64_t time);

/* The method at that address in the JVM at that time; its names belong to the timeline. false: not known. */
bool timeline_method(const struct timeline *t, uint64_t addr, uint64_t time, struct timeline_method *ret);

/* One frame of the inlining chain. */
struct timeline_frame {
	const struct timeline_method *method; /* NULL: unknown */
	int32_t bci, line; /* line 0: unknown */
};
/*
 * The chain at an offset, innermost first; returns the count. For a return address, pass the offset of the byte
 * before it.
 */
size_t timeline_chain(const struct timeline *t, const struct timeline_code *c, uint32_t offset,
		      struct timeline_frame *ret, size_t max);

/* Code added since the last call (not by replays) and still present, one at a time; NULL: no more. */
struct timeline_code *timeline_next_new(struct timeline *t);

struct timeline_stats {
	uint64_t records, classes, methods, codes, unloads, dynamic, threads, pauses, lost, replays;
	uint64_t dropped; /* for lack of memory */
	uint64_t bytes;
};
struct timeline_stats timeline_stats(const struct timeline *t);

#endif
