#ifndef JS_CONFIG_CONFIG_RULE_H
#define JS_CONFIG_CONFIG_RULE_H

struct err;
struct rules;

/* [rule NAME], and what is below it, into rules.h. -errno: err says what is wrong, and what would be right. */
struct config_rule {
	struct rules *rules;
	unsigned done; /* what the last rule says of its targets: bits */
};

int config_rule_begin(struct config_rule *r, const char *name, const char *where, struct err *err);
int config_rule_set(struct config_rule *r, const char *key, const char *value, struct err *err);

#endif
