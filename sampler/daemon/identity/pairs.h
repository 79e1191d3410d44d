#ifndef JS_IDENTITY_PAIRS_H
#define JS_IDENTITY_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Keys and values in the text of a target. Values are copied sanitised (text.h) and cut to what fits; an empty one is as good as
 * none, as OpenTelemetry has it. The first pair with that key counts, as for getenv(3). Linear in `len`.
 */

/* "KEY=VALUE" pieces that end with a NUL each: /proc/PID/environ. */
bool pairs_find(const char *text, size_t len, const char *key, char *dst, size_t size);

/*
 * "key=value,key=value" with %XX in the values: the value of the property otel.resource.attributes, or of the variable
 * OTEL_RESOURCE_ATTRIBUTES. A list with an error in it counts for nothing, as its specification demands.
 */
bool pairs_attribute(const char *list, size_t len, const char *key, char *dst, size_t size);

/* The same of a list that is one of the pieces: `name` is its key. */
bool pairs_find_attribute(const char *text, size_t len, const char *name, const char *key, char *dst, size_t size);

#endif
