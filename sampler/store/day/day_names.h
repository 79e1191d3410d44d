#ifndef JS_STORE_DAY_NAMES_H
#define JS_STORE_DAY_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct day;
struct err;

/*
 * How much room for names (functions, files, thread pools) the targets have in a day's file, and in the memory of its
 * writer. Names come from targets, and some make up new ones without end: an interpreter that compiles each expression
 * to a class, or a program that wants to harm. A target may have a quarter of what it leaves to others, and all targets
 * of one user (by the label "user") as much as they leave. So one target gets a fifth of all at most, one user half of
 * all, and however many have come before, there is something left for the next one. Names are not taken away again; for
 * what is new and beyond this, DICT_LEFT_OUT is stored.
 *
 * What was there when the file was opened counts for nobody.
 */
enum { DAY_NAMES_MAX = 64 << 20, DAY_NAMES_SHARES = 4096, DAY_NAMES_USERS = 256 };

struct day_names {
	uint64_t max; /* bytes of all; DAY_NAMES_MAX except in tests */
	uint64_t before, left_before; /* what there was when the present target began */
	struct {
		uint64_t taken;
		uint16_t user; /* plus 1; 0: not looked up yet */
		bool told;
	} shares[DAY_NAMES_SHARES]; /* by the target's number; more targets share these */
	uint64_t taken_by_user[DAY_NAMES_USERS]; /* by a hash of the name */
};

/* From here to day_names_end(), what is added to the dictionary is for that target, whose labels are set. 0 or -errno. */
int day_names_begin(struct day *d, int64_t target, struct err *err);
/* Whether something was left out for this target, for the first time since the file was opened. */
bool day_names_end(struct day *d, int64_t target);

#endif
