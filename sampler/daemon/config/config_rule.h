#ifndef JS_CONFIG_CONFIG_RULE_H
#define JS_CONFIG_CONFIG_RULE_H

struct err;
struct rules;

/* Parses [rule NAME] and its settings into rules.h. -errno: err says what is wrong and what would be right. */
struct config_rule {
	struct rules *rules;
	unsigned done; /* bits: actions that the last rule has set */
};

int config_rule_begin(struct config_rule *r, const char *name, const char *where, struct err *err);
int config_rule_set(struct config_rule *r, const char *key, const char *value, struct err *err);

#endif
