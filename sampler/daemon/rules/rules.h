#ifndef JS_RULES_RULES_H
#define JS_RULES_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/model/label.h"

struct err;

/*
 * Which JVMs are sampled, and how: a list of rules, of which the first that matches a target's labels (identity.h) decides
 * alone. A target that none matches is sampled by the defaults. The file format is in config.h.
 */
struct rules;

enum { RULES_MAX = 200, RULE_CONDITIONS = 16, RULE_LABELS = 8 };

enum rule_engine { RULE_ENGINE_DEFAULT, RULE_ENGINE_PERF, RULE_ENGINE_SUSPEND };

/* What is done with a target. */
struct rule_choice {
	bool leave_out;
	bool wall; /* wall-clock samples, too */
	uint32_t frequency; /* Hz; 0: the default */
	enum rule_engine engine;
	const char *rule; /* its name; NULL: none matched */
	const struct label *labels; /* more of them for the target; borrowed from the rules */
	size_t n_labels;
};

struct rules *rules_new(void); /* NULL: out of memory */
void rules_free(struct rules *r);
size_t rules_count(const struct rules *r);

/* Adds a rule behind the others, which matches everything as yet. `where`: file and line, for messages. -E2BIG: RULES_MAX, -EEXIST. */
int rules_add(struct rules *r, const char *name, const char *where, struct err *err);
/* Of the last rule. -EINVAL: no pattern (glob.h); -E2BIG: too many; -EEXIST: this key is there already. */
int rules_condition(struct rules *r, const char *key, const char *pattern, struct err *err);
int rules_label(struct rules *r, const char *key, const char *value, struct err *err);
struct rule_choice *rules_last(struct rules *r); /* to be filled in; NULL: there is no rule */

/*
 * What to do with a target, and notes which rules match. A condition on a label that the target has not is not met, '*' included. At
 * most RULES_MAX * RULE_CONDITIONS patterns are matched.
 */
struct rule_choice rules_choose(struct rules *r, const struct label *labels, size_t n);

/*
 * Whoever knows only some labels of a target, `known` (NULL behind the last key), asks whether it is left out whatever the others are. Notes
 * nothing.
 */
bool rules_leave_out(const struct rules *r, const struct label *labels, size_t n, const char *const *known);

/* Why rule i has decided on no target so far, as a sentence that names it. False: it has. */
bool rules_idle(const struct rules *r, size_t i, char *dst, size_t size);

#endif
