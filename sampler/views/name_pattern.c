#include "sampler/views/name_pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "sampler/views/nearest.h"
#include "symbolizer/base/err.h"

int name_pattern_check(const char *pattern, struct err *err)
{
	if (!*pattern)
		return err_set(err, -EINVAL, "the name of a method is missing");
	if (strlen(pattern) > NAME_PATTERN_MAX)
		return err_set(err, -EINVAL, "'%.40s...': longer than %d characters", pattern, NAME_PATTERN_MAX);
	return 0;
}

static bool same(char pattern, char name)
{
	return pattern == name || (pattern == '.' && name == '/');
}

/*
 * With stars: the set of positions in the pattern that the name read so far may have reached. One pass over the name,
 * however many stars. at[i]: the first i characters of the pattern are matched.
 */
static void skip_stars(const char *pattern, size_t n, uint8_t *at)
{
	for (size_t i = 0; i < n; i++)
		if (at[i] && pattern[i] == '*')
			at[i + 1] = 1;
}

static bool step(const char *pattern, size_t n, const uint8_t *at, uint8_t *next, char c)
{
	bool any = false;

	memset(next, 0, n + 1);
	for (size_t i = 0; i < n; i++) {
		if (!at[i])
			continue;
		if (pattern[i] == '*') {
			bool two = pattern[i + 1] == '*' || (i && pattern[i - 1] == '*');

			next[i] |= two || c != '/';
		} else if (same(pattern[i], c)) {
			next[i + 1] = 1;
		}
		any |= next[i] || next[i + 1];
	}
	skip_stars(pattern, n, next);
	return any;
}

static bool matches_stars(const char *pattern, size_t n, const char *name)
{
	uint8_t sets[2][NAME_PATTERN_MAX + 1] = {{1}};
	unsigned now = 0;

	skip_stars(pattern, n, sets[now]);
	for (; *name; name++, now ^= 1)
		if (!step(pattern, n, sets[now], sets[now ^ 1], *name))
			return false;
	return sets[now][n];
}

static bool matches_whole(const char *pattern, const char *name)
{
	size_t n = strlen(pattern), plain = strcspn(pattern, "*");

	if (n > NAME_PATTERN_MAX)
		return false;
	for (size_t i = 0; i < plain; i++)
		if (!name[i] || !same(pattern[i], name[i]))
			return false;
	if (plain == n)
		return !name[n];
	return matches_stars(pattern + plain, n - plain, name + plain);
}

static bool matches_as_it_is(const char *pattern, const char *name)
{
	const char *dot = strchr(pattern, '.'), *slash = strrchr(name, '/');

	if (matches_whole(pattern, name))
		return true;
	if (!slash || strchr(pattern, '/') || (dot && strchr(dot + 1, '.')))
		return false;
	return matches_whole(pattern, slash + 1);
}

/* Turns Class#method and Class::method into Class.method, in `dst`. false: neither. */
static bool with_dot(const char *pattern, char *dst, size_t size)
{
	const char *mark = strchr(pattern, '#');
	size_t skip = 1, before;

	if (!mark && (mark = strstr(pattern, "::")))
		skip = 2;
	if (!mark)
		return false;
	before = (size_t)(mark - pattern);
	return snprintf(dst, size, "%.*s.%s", (int)before, pattern, mark + skip) < (int)size;
}

bool name_pattern_matches(const char *pattern, const char *name)
{
	char dotted[NAME_PATTERN_MAX + 1];

	if (matches_as_it_is(pattern, name))
		return true;
	return with_dot(pattern, dotted, sizeof(dotted)) && matches_as_it_is(dotted, name);
}

/* A method's name alone, without a class: "getNode", "get*". */
static bool matches_method(const char *pattern, const char *name)
{
	const char *class = strrchr(name, '/'), *dot = strrchr(class ? class : name, '.');
	const char *scope = strstr(name, "::");

	if (strpbrk(pattern, "/.#:[") || strcmp(pattern, "*") == 0)
		return false;
	while (scope && strstr(scope + 2, "::"))
		scope = strstr(scope + 2, "::");
	if (scope)
		return matches_whole(pattern, scope + 2);
	return dot && matches_whole(pattern, dot + 1);
}

typedef bool matches_fn(const char *pattern, const char *name);

static uint8_t *ids_of(matches_fn *matches, const char *pattern, const struct named_profile *np, uint32_t *ret_matches,
		       uint32_t *ret_one)
{
	uint32_t n = strtab_count(np->strings);
	uint8_t *ids = calloc((size_t)n + 1, 1);

	*ret_matches = *ret_one = 0;
	/* Function 0 is "none"; a function without a name is [unknown] everywhere. */
	for (uint32_t i = 0; ids && i < np->n_functions; i++) {
		uint32_t id = np->functions[i].name;
		const char *name = named_string(np, id);

		if (id >= n || ids[id] || !matches(pattern, *name ? name : "[unknown]"))
			continue;
		ids[id] = 1;
		++*ret_matches;
		*ret_one = id;
	}
	return ids;
}

uint8_t *name_pattern_ids(const char *pattern, const struct named_profile *np, uint32_t *ret_matches, uint32_t *ret_one)
{
	return ids_of(name_pattern_matches, pattern, np, ret_matches, ret_one);
}

int name_pattern_method(const char *pattern, const struct named_profile *np, uint8_t **ret, uint32_t *ret_matches,
			uint32_t *ret_one, struct err *err)
{
	uint8_t *ids = name_pattern_ids(pattern, np, ret_matches, ret_one);
	char near[300];

	if (ids && !*ret_matches) {
		free(ids);
		ids = ids_of(matches_method, pattern, np, ret_matches, ret_one);
	}
	if (!ids)
		return err_set(err, -ENOMEM, "out of memory");
	if (!*ret_matches) {
		free(ids);
		nearest_methods(np, pattern, near, sizeof(near));
		return err_set(err, -ENOENT, "no method '%.200s' in the profile%s%s", pattern, *near ? "; " : "", near);
	}
	*ret = ids;
	return 0;
}
