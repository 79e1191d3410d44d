#ifndef JS_OPTIONS_RECORD_VALUES_H
#define JS_OPTIONS_RECORD_VALUES_H

#include <stddef.h>

struct err;
struct option_spec;
struct record_options;

/*
 * Stores one option from option_next(), with its argument; commands that share options with record use it, too. Texts are
 * borrowed from argv. 0, or -EINVAL with a message.
 */
int record_option_take(const struct option_spec *s, struct record_options *o, struct err *err);
/* Adds a file of -o (borrowed) to a list of at most `max`. */
int record_value_output(const char *path, const char **list, size_t *n, size_t max, struct err *err);
/* Adds a PID, unless it is there already. */
int record_value_pid(const char *text, struct record_options *o, struct err *err);

#endif
