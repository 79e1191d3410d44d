#ifndef JS_IDENTITY_PAIRS_H
#define JS_IDENTITY_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Keys and values in texts from the target. Values are copied sanitised (text.h) and cut to fit; an empty value
 * counts as missing, as in OpenTelemetry. The first pair with the key counts, as in getenv(3). Time is linear in
 * `len`.
 */

/* "KEY=VALUE" strings, each ending with a NUL: /proc/PID/environ. */
bool pairs_find(const char *text, size_t len, const char *key, char *dst, size_t size);

/*
 * "key=value,key=value" with %XX in the values: the value of the property otel.resource.attributes, or of the
 * variable OTEL_RESOURCE_ATTRIBUTES. A list with an error is ignored, as its specification requires.
 */
bool pairs_attribute(const char *list, size_t len, const char *key, char *dst, size_t size);

/* The same for a list that is itself the value of `name` in such strings. */
bool pairs_find_attribute(const char *text, size_t len, const char *name, const char *key, char *dst, size_t size);

#endif
