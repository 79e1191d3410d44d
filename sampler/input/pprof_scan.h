#ifndef JS_INPUT_PPROF_SCAN_H
#define JS_INPUT_PPROF_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads the fields of a protobuf message one by one, without holding the whole message: the
 * outermost message of a profile is the whole file.
 */
struct pprof_field {
	uint32_t number;
	uint64_t value; /* for a varint */
	const uint8_t *bytes; /* for a length-delimited field; NULL: a number */
	size_t len;
};

struct pprof_scan {
	const uint8_t *start, *p, *end;
};

/* 1: a field; 0: the end; -EINVAL: damaged at offset s->p - s->start. */
int pprof_scan_next(struct pprof_scan *s, struct pprof_field *ret);
bool pprof_scan_varint(struct pprof_scan *s, uint64_t *ret); /* false: damaged */

#endif
