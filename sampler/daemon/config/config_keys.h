#ifndef JS_CONFIG_CONFIG_KEYS_H
#define JS_CONFIG_CONFIG_KEYS_H

#include <stdbool.h>

#include "sampler/daemon/config/config.h"

struct err;

/* The settings of all sections but those of rules: a table. */
enum { CONFIG_KEYS = 17 };

void config_defaults(struct config *c);

/* The number of a key; -ENOENT: err has those that there are. */
int config_key_find(const char *section, const char *key, struct err *err);
/* -EINVAL: err says what the key takes. */
int config_key_set(struct config *c, int key, const char *value, struct err *err);

/* Is it a section of the table? err has all that there are, if not. */
int config_section_find(const char *section, struct err *err);

/* What no single setting shows. The first problem; -EINVAL. */
int config_agrees(const struct config *c, struct err *err);

/* yes or no; -EINVAL */
int config_parse_bool(const char *value, bool *ret);

/* A number of Hz for [sampling] and rules. */
enum { CONFIG_HZ_MIN = 5, CONFIG_HZ_MAX = 1000 };

#endif
