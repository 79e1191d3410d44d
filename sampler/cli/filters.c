#include "sampler/cli/filters.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "sampler/cli/options.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/profile/named_filter.h"
#include "symbolizer/base/err.h"

int filters_apply(const struct record_options *o, uint32_t leaf_kinds, struct named_profile **np,
		  struct err *err)
{
	const struct named_filter f = {
		.include = o->include,
		.n_include = o->n_include,
		.exclude = o->exclude,
		.n_exclude = o->n_exclude,
		.include_threads = o->include_threads,
		.leaf_kinds = leaf_kinds,
	};
	struct named_profile *kept;
	int r;

	if (!o->n_include && !o->n_exclude && !o->include_threads && !leaf_kinds)
		return 0;
	r = named_filter_apply(*np, &f, &kept, NULL, err);
	if (r < 0)
		return r;
	named_profile_free(*np);
	*np = kept;
	return 0;
}

static const struct {
	const char *name;
	enum named_kind kind;
} kinds[] = {
	{"kernel", NAMED_KERNEL},   {"native", NAMED_NATIVE}, {"interpreted", NAMED_INTERPRETED},
	{"C1", NAMED_C1},	    {"C2", NAMED_C2},	      {"inlined", NAMED_INLINED},
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
				       "--kind %.40s: there are kernel, native, interpreted, C1, C2, "
				       "inlined, jni, stub, unknown", text);
		set |= 1u << kinds[i].kind;
		if (!p[len])
			break;
	}
	*ret |= set;
	return 0;
}
