#ifndef JS_RECORDING_RECORDING_WRITER_H
#define JS_RECORDING_RECORDING_WRITER_H

#include "sampler/recording/recording.h"

/*
 * Collects a recording. While samples are walked and named, recording_note() must be connected to a mem_tap, and
 * recording_tap() to the modmap. One thread.
 */
struct recording_writer;

struct recording_writer *recording_writer_new(void); /* NULL: out of memory */
void recording_writer_free(struct recording_writer *w);

/* A mem_note_fn; ctx is the writer. Bytes already known with the same value are not written again. */
void recording_note(void *ctx, uint64_t addr, const void *bytes, size_t len);
const struct dso_tap *recording_tap(struct recording_writer *w);

/*
 * Call after walking a sample: the memory read for it is written before it. Of kernel frames only the number is kept.
 */
void recording_writer_sample(struct recording_writer *w, const struct raw_sample *s, int32_t ns_tid);

/* The threads of the samples, each once. A reused tid counts as one thread. */
struct recording_tid {
	pid_t tid;
	int32_t ns_tid;
};
size_t recording_writer_tids(const struct recording_writer *w, const struct recording_tid **ret);
void recording_writer_thread(struct recording_writer *w, pid_t tid, int32_t ns_tid, const char *name);

/* Writes the file. Call only once. */
int recording_writer_finish(struct recording_writer *w, const struct recording_facts *facts, const char *maps,
			    size_t maps_len, FILE *out, struct err *err);

#endif
