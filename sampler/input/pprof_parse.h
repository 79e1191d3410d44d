#ifndef JS_INPUT_PPROF_PARSE_H
#define JS_INPUT_PPROF_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/model/named_profile.h"
#include "sampler/pprof/profile.pb-c.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/vec.h"

/* Internal to the pprof reader. */
struct err;
struct named_builder;

enum pprof_label { LABEL_OTHER, LABEL_PID, LABEL_TID, LABEL_THREAD, LABEL_STATE, LABEL_SLICE };

struct pprof_text {
	const char *s; /* not NUL-terminated */
	uint32_t len, id; /* id in the builder; UINT32_MAX: not yet made */
	uint8_t label; /* enum pprof_label, if it is the key of a label */
};

struct pprof_mapping {
	uint32_t index; /* in the builder */
	uint32_t file; /* string of the builder */
	int kind; /* default kind of frames in it; -1: unknown */
};

/*
 * Two functions of the builder: one with the name unchanged, one with the name that a frame of that text has without
 * its suffix, for lines without a kind.
 */
struct pprof_function {
	uint32_t said, guessed;
	struct named_line guess; /* kind, tier and line by suffix, file and name */
	bool suffix; /* the name has a suffix, which overrides the mapping */
};

struct pprof_id {
	uint64_t id; /* in the file */
	uint32_t at; /* position in mappings, functions; index of the location in the builder */
};

struct pprof_ids {
	struct pprof_id *v;
	size_t n, cap;
};

struct pprof_run {
	const char *name; /* of the input, for messages */
	struct named_builder *b;
	struct err *err;
	VEC(struct pprof_text) texts;
	VEC(struct pprof_mapping) mappings;
	VEC(struct pprof_function) functions;
	struct pprof_ids mapping_ids, function_ids, location_ids;
	VEC(struct named_line) lines; /* lines of the current location */
	VEC(uint32_t) stack; /* locations of the current sample */
	uint32_t unknown; /* location for stacks without a frame */
	bool has_unknown; /* it exists */
	struct buf scratch;

	size_t n_types, weight_at, count_at;
	VEC(int64_t) types; /* type, unit, type, unit, ... */
	int64_t period, default_type;
	uint64_t count, weight; /* sums */

	uint64_t place; /* offset of the current field, in bytes */
	const char *what; /* "sample" */
	uint64_t number; /* its number among those, from 1 */
};

/* -EINVAL with the position in the message. */
int pprof_bad(struct pprof_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int pprof_no_memory(struct pprof_run *r);

/* UINT32_MAX: error, *err is set. */
uint32_t pprof_string(struct pprof_run *r, int64_t index);
/* Borrowed until the next call; NULL: error, *err is set. */
const char *pprof_text(struct pprof_run *r, int64_t index);

enum pprof_label pprof_label_of(const char *text, size_t len);
int pprof_add_mapping(struct pprof_run *r, const Pprof__Mapping *m);
int pprof_add_function(struct pprof_run *r, const Pprof__Function *f);
int pprof_add_location(struct pprof_run *r, const Pprof__Location *l);
/* "[unknown]": for a stack without a frame. */
int pprof_unknown_location(struct pprof_run *r, uint32_t *ret);
int pprof_add_sample(struct pprof_run *r, const Pprof__Sample *s);
int pprof_set_types(struct pprof_run *r); /* call when all types, the period and the texts are known */

bool pprof_ids_add(struct pprof_ids *ids, uint64_t id, uint32_t at);
bool pprof_ids_sort(struct pprof_ids *ids); /* false: two are equal */
const uint32_t *pprof_ids_find(const struct pprof_ids *ids, uint64_t id); /* NULL: not found */

#endif
