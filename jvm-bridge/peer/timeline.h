#ifndef JS_PEER_TIMELINE_H
#define JS_PEER_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;
struct wire_record;

/*
 * What the bridge told, by time: which compiled code stood where and when, and what it is called. Names
 * stay after their classes were unloaded. Not thread-safe. Memory is bounded: beyond it nothing new
 * is kept, which is counted.
 */
struct timeline;

#define TIMELINE_ALIVE UINT64_MAX

struct timeline_code {
	uint64_t begin;
	uint32_t size;
	uint32_t method; /* number of a method, 0: unknown */
	uint64_t from, to; /* CLOCK_MONOTONIC of this program, ns; TIMELINE_ALIVE */
	uint32_t n_scopes, n_ranges;
	const struct timeline_scope *scopes;
	const struct timeline_range *ranges;
	uint32_t replay; /* last one that it was told in */
	bool added; /* to the list of new ones */
	struct timeline_note {
		int32_t frame_size, tier;
		uint32_t code_id;
	} note; /* the caller's; all 0 at first */
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
	const char *class_name, *name, *signature; /* UTF-8, as HotSpot has them (slashes) */
	const char *source_file; /* NULL: none */
};

struct timeline *timeline_new(void);
/* What is told takes bytes out of `b`, borrowed, too; records that find none are dropped. */
void timeline_set_budget(struct timeline *t, struct budget *b);
void timeline_free(struct timeline *t);

/* Added to each record's time: from the target's clock to ours. */
void timeline_set_offset(struct timeline *t, int64_t ns);

/* 0 (unknown records are nothing), -EPROTO: no record of that type looks so, -ENOMEM. */
int timeline_feed(struct timeline *t, const struct wire_record *r);

/* The code at a pc at a time; NULL: none known. */
struct timeline_code *timeline_find(const struct timeline *t, uint64_t pc, uint64_t time);

/* The method whose place in the JVM is addr at that time; its names are the timeline's. False: not known. */
bool timeline_method(const struct timeline *t, uint64_t addr, uint64_t time, struct timeline_method *ret);

/* One frame of the inlining chain. */
struct timeline_frame {
	const struct timeline_method *method; /* NULL: unknown */
	int32_t bci, line; /* line 0: unknown */
};
/* The chain at an offset, innermost first; the count. Of a return address: that of the byte before. */
size_t timeline_chain(const struct timeline *t, const struct timeline_code *c, uint32_t offset,
		      struct timeline_frame *ret, size_t max);

/* Codes that came (not those of replays) since the last call, one by one; NULL: no more. */
struct timeline_code *timeline_next_new(struct timeline *t);

struct timeline_stats {
	uint64_t records, classes, methods, codes, unloads, dynamic, threads, pauses, lost, replays;
	uint64_t dropped; /* for want of memory */
	uint64_t bytes;
};
struct timeline_stats timeline_stats(const struct timeline *t);

#endif
