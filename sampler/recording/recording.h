#ifndef JS_RECORDING_RECORDING_H
#define JS_RECORDING_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "sampler/model/raw_sample.h"
#include "symbolizer/native/dso_record.h"

struct err;

/*
 * A recording: raw samples with registers and stack bytes, the memory that was read to walk and name them, maps, and
 * the facts about files (rows, symbols) that were looked up. It can be replayed on any machine, for tests and bug
 * reports. The file is compressed with zstd; format.h describes the layout.
 *
 * It is read into memory as a whole and is immutable, except for recording_keep_samples(); results are borrowed from
 * it. The file is not trusted.
 */
struct recording;

enum { RECORDING_MAX_BYTES = 128 << 20 }; /* decompressed */

int recording_open(const char *path, struct recording **ret, struct err *err);
/* The same for a file that is open for reading; fd is borrowed. `name` is for messages. */
int recording_read(int fd, const char *name, struct recording **ret, struct err *err);
/* Takes decompressed content, which is copied. */
int recording_parse(const void *bytes, size_t len, struct recording **ret, struct err *err);
void recording_close(struct recording *r);

struct recording_facts {
	pid_t pid;
	uint64_t period;
	char event[32];
	char comm[64];
	char command[1024];
};
const struct recording_facts *recording_facts(const struct recording *r);
const char *recording_maps(const struct recording *r, size_t *len);

/*
 * Samples in the order in which they were taken. The memory of sample i is what was read to walk it; that of number
 * `count` is what was read for naming at the end.
 */
size_t recording_sample_count(const struct recording *r);
const struct raw_sample *recording_sample(const struct recording *r, size_t i); /* NULL: dropped */

struct recording_span {
	uint64_t addr;
	const uint8_t *bytes;
	size_t len;
};
/* Calls fn for each span of sample i's memory, by address, until it returns a negative number. Returns that, or 0. */
typedef int recording_span_fn(void *ctx, const struct recording_span *span);
int recording_each_span(const struct recording *r, size_t i, recording_span_fn *fn, void *ctx);

/* Drops the samples for which keep[i] is false; their memory and numbers stay. */
void recording_keep_samples(struct recording *r, const bool *keep);

struct recording_thread {
	pid_t tid;
	int32_t ns_tid;
	const char *name;
};
size_t recording_thread_count(const struct recording *r);
const struct recording_thread *recording_thread(const struct recording *r, size_t i);

struct recording_dso {
	const char *path;
	struct dso_record record;
};
size_t recording_dso_count(const struct recording *r);
const struct recording_dso *recording_dso(const struct recording *r, size_t i);

#endif
