#ifndef JS_OPTIONS_RECORD_VALUES_H
#define JS_OPTIONS_RECORD_VALUES_H

struct err;
struct option_spec;
struct record_options;

/*
 * Stores one option from option_next(), with its argument; commands that share options with record use it, too. Texts are
 * borrowed from argv. 0, or -EINVAL with a message.
 */
int record_option_take(const struct option_spec *s, struct record_options *o, struct err *err);
/* Adds a PID, unless it is there already. */
int record_value_pid(const char *text, struct record_options *o, struct err *err);

#endif
