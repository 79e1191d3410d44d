#ifndef JS_CONFIG_CONFIG_KEYS_H
#define JS_CONFIG_CONFIG_KEYS_H

#include <stdbool.h>

#include "sampler/daemon/config/config.h"

struct err;

/* Table of the settings in all sections but rules. */
enum { CONFIG_KEYS = 18 };

void config_defaults(struct config *c);

/* The index of a key; -ENOENT: err lists the valid ones. */
int config_key_find(const char *section, const char *key, struct err *err);
/* -EINVAL: err says what the key accepts. */
int config_key_set(struct config *c, int key, const char *value, struct err *err);

/* Is it a section of the table? If not, err lists all. */
int config_section_find(const char *section, struct err *err);

/* Checks combinations of settings, and reports the first problem. -EINVAL. */
int config_agrees(const struct config *c, struct err *err);

/* yes or no; -EINVAL */
int config_parse_bool(const char *value, bool *ret);

/* Limits of a frequency in Hz, in [sampling] and rules. */
enum { CONFIG_HZ_MIN = 5, CONFIG_HZ_MAX = 1000, CONFIG_RULE_HZ_MIN = 1 };

#endif
