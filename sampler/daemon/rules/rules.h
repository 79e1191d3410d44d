#ifndef JS_RULES_RULES_H
#define JS_RULES_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/model/label.h"

struct err;

/*
 * Which JVMs are sampled, and how: a list of rules. Only the first rule that matches a target's labels (identity.h)
 * counts; if none does, the defaults apply. config.h describes the file format.
 */
struct rules;

enum { RULES_MAX = 200, RULE_CONDITIONS = 16, RULE_LABELS = 8 };

/* What to do with a target. */
struct rule_choice {
	bool leave_out;
	uint32_t frequency; /* Hz; 0: the default */
	bool suspend; /* the suspend engine, not perf events */
	bool wall; /* waiting threads, too */
	const char *rule; /* the rule's name; NULL: none matched */
	const struct label *labels; /* additional labels of the target; borrowed from the rules */
	size_t n_labels;
};

struct rules *rules_new(void); /* NULL: out of memory */
void rules_free(struct rules *r);
size_t rules_count(const struct rules *r);
bool rules_suspend(const struct rules *r); /* some rule wants the suspend engine */
bool rules_wall(const struct rules *r); /* some rule wants waiting threads, too */
bool rules_used(const struct rules *r); /* rules_choose() was called */

/* Appends a rule that matches everything so far. `where`: file and line, for messages. -E2BIG: too many; -EEXIST. */
int rules_add(struct rules *r, const char *name, const char *where, struct err *err);
/* For the last rule. -EINVAL: not a pattern (glob.h); -E2BIG: too many; -EEXIST: it already has this key. */
int rules_condition(struct rules *r, const char *key, const char *pattern, struct err *err);
int rules_label(struct rules *r, const char *key, const char *value, struct err *err);
struct rule_choice *rules_last(struct rules *r); /* for the caller to fill in; NULL: no rule */

/*
 * Decides about a target, and notes which rules match. A condition on a label that the target does not have fails,
 * even with '*'. Matches at most RULES_MAX * RULE_CONDITIONS patterns.
 */
struct rule_choice rules_choose(struct rules *r, const struct label *labels, size_t n);

/*
 * For a caller that knows only pid and user of a target: is it left out whatever the other labels are? Notes nothing.
 */
bool rules_leave_out(const struct rules *r, const struct label *labels, size_t n);

/*
 * Why rule i has decided about no target so far, as a sentence with its name. false: it has decided, or may have in
 * rules_leave_out().
 */
bool rules_idle(const struct rules *r, size_t i, char *dst, size_t size);

#endif
