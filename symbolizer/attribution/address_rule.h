#ifndef JS_ATTRIBUTION_ADDRESS_RULE_H
#define JS_ATTRIBUTION_ADDRESS_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/attribution.h"

/*
 * Attribution by the next trustworthy record in address order, without decoding: the fallback for code that is too
 * large or cannot be decoded, and the reference with which tests compare the control-flow rule.
 */

/* Is it trustworthy? Records with an oop map are; in C1 code, all are. */
bool record_trusted(const struct code *c, const struct code_record *r);

/* The trustworthy record exactly at pc; NULL: none. */
const struct code_record *record_at(const struct code *c, int64_t pc);

/* The first trustworthy record with pc_offset > pc; NULL: none. */
const struct code_record *record_after(const struct code *c, int64_t pc);

/*
 * The inlining chain of a record, or the compiled method itself if the chain is invalid: it cannot be decoded, or its
 * root is another method.
 */
void record_scopes(const struct code *c, int major, const struct code_record *r, struct attributed *ret);

/* Sets the compiled method itself. */
void root_scope(const struct code *c, int32_t bci, struct attributed *ret);

void address_rule(const struct code *c, int major, int64_t pc, bool return_address, struct attributed *ret);

#endif
