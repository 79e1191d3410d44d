#include "sampler/cli/filters.h"

#include <errno.h>
#include <regex.h>
#include <string.h>
#include <strings.h>

#include "sampler/cli/options/options.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/profile/named_filter.h"
#include "sampler/views/nearest.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

typedef void nearest_fn(const struct named_profile *np, const char *text, char *dst, size_t size);

/* Without this, a mistyped expression would result in an empty or a complete profile, with no hint why. */
static void warn_of_expression(const struct named_profile *np, const char *option, const char *text, const char *what,
			       nearest_fn *nearest)
{
	char near[300];

	nearest(np, text, near, sizeof(near));
	log_warn("--%s '%.200s' matches no %s%s%s", option, text, what, *near ? "; " : "", near);
}

static bool matches_frame(const struct named_profile *np, const regex_t *re)
{
	for (uint32_t i = 1; i < np->n_functions; i++)
		if (!regexec(re, named_string(np, np->functions[i].name), 0, NULL, 0))
			return true;
	return false;
}

static bool matches_thread(const struct named_profile *np, const regex_t *re)
{
	for (uint32_t i = 0; i < np->n_samples; i++)
		if (!regexec(re, named_string(np, np->samples[i].thread), 0, NULL, 0))
			return true;
	return false;
}

static bool is_matched(const struct named_profile *np, const char *text,
		       bool (*matches)(const struct named_profile *, const regex_t *))
{
	regex_t re;
	bool yes;

	if (regcomp(&re, text, REG_EXTENDED | REG_NOSUB))
		return true; /* reported elsewhere */
	yes = matches(np, &re);
	regfree(&re);
	return yes;
}

static void warn_of_filters(const struct record_options *o, const struct named_profile *np)
{
	for (size_t i = 0; i < o->n_include; i++)
		if (!is_matched(np, o->include[i], matches_frame))
			warn_of_expression(np, "include", o->include[i], "frame", nearest_methods);
	for (size_t i = 0; i < o->n_exclude; i++)
		if (!is_matched(np, o->exclude[i], matches_frame))
			warn_of_expression(np, "exclude", o->exclude[i], "frame", nearest_methods);
	if (o->session.include_threads && !is_matched(np, o->session.include_threads, matches_thread))
		warn_of_expression(np, "include-threads", o->session.include_threads, "thread that was sampled",
				   nearest_threads);
}

/* Every expression matches something, or there was a warning about it: it is the combination that leaves nothing. */
static void warn_of_nothing(const struct record_options *o, uint32_t leaf_kinds)
{
	if (o->n_exclude && !o->n_include && !o->session.include_threads && !leaf_kinds)
		log_warn("no samples are left: --exclude drops every stack");
	else
		log_warn("no samples are left: no stack passes all of the filters");
}

static bool has_filters(const struct record_options *o, uint32_t leaf_kinds)
{
	return o->n_include || o->n_exclude || o->session.include_threads || leaf_kinds;
}

static int keep(const struct record_options *o, uint32_t leaf_kinds, const struct named_profile *np,
		struct named_profile **ret, struct err *err)
{
	const struct named_filter f = {
		.include = o->include,
		.n_include = o->n_include,
		.exclude = o->exclude,
		.n_exclude = o->n_exclude,
		.include_threads = o->session.include_threads,
		.leaf_kinds = leaf_kinds,
	};

	return named_filter_apply(np, &f, ret, NULL, err);
}

int filters_apply_quietly(const struct record_options *o, uint32_t leaf_kinds, struct named_profile **np,
			  struct err *err)
{
	struct named_profile *kept;
	int r;

	if (!has_filters(o, leaf_kinds))
		return 0;
	r = keep(o, leaf_kinds, *np, &kept, err);
	if (r < 0)
		return r;
	named_profile_free(*np);
	*np = kept;
	return 0;
}

int filters_apply(const struct record_options *o, uint32_t leaf_kinds, struct named_profile **np, struct err *err)
{
	bool any = (*np)->n_samples;
	int r;

	if (any && has_filters(o, leaf_kinds))
		warn_of_filters(o, *np);
	r = filters_apply_quietly(o, leaf_kinds, np, err);
	if (r == 0 && any && !(*np)->n_samples)
		warn_of_nothing(o, leaf_kinds);
	return r;
}

static const struct {
	const char *name;
	enum named_kind kind;
} kinds[] = {
	{"kernel", NAMED_KERNEL},   {"native", NAMED_NATIVE}, {"interpreted", NAMED_INTERPRETED},
	{"C1", NAMED_C1},           {"C2", NAMED_C2},         {"inlined", NAMED_INLINED},
	{"jni", NAMED_JAVA_NATIVE}, {"stub", NAMED_STUB},     {"unknown", NAMED_UNKNOWN},
};

int filters_parse_kinds(const char *text, uint32_t *ret, struct err *err)
{
	uint32_t set = 0;
	size_t len, i;

	for (const char *p = text;; p += len + 1) {
		len = strcspn(p, ",");
		for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strlen(kinds[i].name) == len && !strncasecmp(p, kinds[i].name, len))
				break;
		if (i == sizeof(kinds) / sizeof(kinds[0]))
			return err_set(err, -EINVAL,
				       "--kind %.40s: one of kernel, native, interpreted, C1, C2, "
				       "inlined, jni, stub, unknown",
				       text);
		set |= 1u << kinds[i].kind;
		if (!p[len])
			break;
	}
	*ret |= set;
	return 0;
}
