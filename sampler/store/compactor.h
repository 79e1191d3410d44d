#ifndef JS_STORE_COMPACTOR_H
#define JS_STORE_COMPACTOR_H

#include <stdint.h>

#include "sampler/store/day/day.h"
#include "sampler/store/store_files.h"

struct compaction;

/* Compacts finished days one after the other, with little of a CPU. Zero-initialise. */
struct compactor {
	struct compaction *running; /* NULL: none */
	struct day_id id; /* of its file */
	uint64_t bytes; /* of the file, before */
	uint64_t then_ns; /* CLOCK_MONOTONIC of the last compactor_work() */
	int64_t credit_ns; /* CPU time that it may use */
	int64_t done[STORE_STEPS]; /* files up to this date were looked at */
	uint64_t chosen_s; /* when compactor_choose() was last called */
};

/*
 * If none is running, looks at the next file that nobody writes any more. open: the files that the store has open; room: bytes by
 * which a file may grow.
 */
void compactor_choose(struct compactor *k, const char *dir, const store_file_list *files,
		      struct day *const open[STORE_STEPS], uint64_t room, uint64_t now_s);
/* Call it every few seconds. */
void compactor_work(struct compactor *k, const char *dir);
/* The file is going to be written or removed. */
void compactor_leave(struct compactor *k, struct day_id id);
void compactor_end(struct compactor *k);

#endif
