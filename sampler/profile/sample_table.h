#ifndef JS_PROFILE_SAMPLE_TABLE_H
#define JS_PROFILE_SAMPLE_TABLE_H

#include <stddef.h>

#include "sampler/profile/profile.h"
#include "symbolizer/base/slots.h"
#include "symbolizer/base/vec.h"

/* Counted samples; all fields but count and weight identify one. Zero-initialise. */
struct sample_table {
	VEC(struct profile_sample) list;
	struct slots slots;
};

/* NULL: not found. Valid until the next one is added. */
struct profile_sample *sample_table_find(struct sample_table *t, const struct profile_sample *wanted);
/* Adds a new one. NULL: out of memory. */
struct profile_sample *sample_table_add(struct sample_table *t, const struct profile_sample *s);

/*
 * Halves the number of time slices: 1 and 2 become 1, 3 and 4 become 2. Samples that become equal are merged. Nothing
 * is lost; without memory, some stay separate.
 */
void sample_table_fold(struct sample_table *t);

/* Frees what only adding and finding need. Samples added afterwards cannot be found. */
void sample_table_close(struct sample_table *t);

size_t sample_table_cost(const struct sample_table *t); /* the most that one more can take, in bytes */
size_t sample_table_bytes(const struct sample_table *t);
void sample_table_done(struct sample_table *t);

#endif
