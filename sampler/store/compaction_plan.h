#ifndef JS_STORE_COMPACTION_PLAN_H
#define JS_STORE_COMPACTION_PLAN_H

#include <stdint.h>

#include "sampler/store/day/day_dictionary.h"
#include "symbolizer/base/vec.h"

struct day;
struct err;

/* What there is to do in a file that is compacted: buckets whose nodes are rewritten, and nodes that can go then. */
struct compaction_place {
	int64_t row, target, at, event; /* of the bucket */
	uint32_t service;
};

struct compaction_plan {
	VEC(struct compaction_place) buckets; /* of targets without totals, one service after the other */
	day_segments segments; /* of nodes */
	uint32_t count; /* one more than the number of the last node */
	uint32_t below; /* nodes below it are not those of a target that has totals */
};

/* 1: there is something to do. compaction_plan_done() in any case. */
int compaction_plan_make(struct day *d, struct compaction_plan *ret, struct err *err);
void compaction_plan_done(struct compaction_plan *p);

#endif
