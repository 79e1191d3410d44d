#ifndef JS_VIEWS_NAME_PATTERN_H
#define JS_VIEWS_NAME_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct named_profile;

/*
 * Methods as a person names them, matched against whole names ("java/util/HashMap.put"):
 *   *    any characters but a slash: java/util/HashMap.*
 *   **   any characters, slashes too
 * A dot matches a slash too (com.acme.Shop.run), and HashMap#put and HashMap::put are HashMap.put. A pattern that has no
 * slash, and no dot but the one in front of the method, also matches in any package: HashMap.put.
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
 * The same for a method given by the user, in *ret. If no whole name matches, the pattern may be
 * the name of a method alone: "put". -ENOENT: there is none, err has similar names; -ENOMEM.
 */
int name_pattern_method(const char *pattern, const struct named_profile *np, uint8_t **ret, uint32_t *ret_matches,
			uint32_t *ret_one, struct err *err);

#endif
