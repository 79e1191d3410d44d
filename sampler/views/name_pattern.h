#ifndef JS_VIEWS_NAME_PATTERN_H
#define JS_VIEWS_NAME_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct named_profile;

/*
 * Methods as users write them, matched against whole names ("java/util/HashMap.put"):
 *  *    any characters but a slash: java/util/HashMap.*
 *  **   any characters including slashes
 * A dot also matches a slash (com.acme.Shop.run), and HashMap#put and HashMap::put mean HashMap.put. A pattern
 * without a slash, and without a dot other than the one before the method, matches in any package: HashMap.put.
 */
enum { NAME_PATTERN_MAX = 1000 };

/* -EINVAL: empty or too long; err says so. */
int name_pattern_check(const char *pattern, struct err *err);
bool name_pattern_matches(const char *pattern, const char *name);

/*
 * Finds the strings of a profile that are matching names, one byte per string id; the caller frees
 * it. NULL: out of memory. *ret_matches: how many names of functions match; *ret_one: one of them
 * (a string id).
 */
uint8_t *name_pattern_ids(const char *pattern, const struct named_profile *np, uint32_t *ret_matches,
			  uint32_t *ret_one);

/*
 * Likewise for a method given by the user, into *ret. If no whole name matches, the pattern may be the method's name
 * alone: "put". -ENOENT: no match, err lists similar names; -ENOMEM.
 */
int name_pattern_method(const char *pattern, const struct named_profile *np, uint8_t **ret, uint32_t *ret_matches,
			uint32_t *ret_one, struct err *err);

#endif
