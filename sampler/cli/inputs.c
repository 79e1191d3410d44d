#include "sampler/cli/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sampler/input/reader.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

static void warn_of_lines(const char *path, const struct reader_report *report)
{
	uint64_t shown = report->unreadable < READER_PROBLEMS ? report->unreadable : READER_PROBLEMS;

	for (uint64_t i = 0; i < shown; i++)
		log_warn("%s: line %" PRIu64 ": %s; skipped", path, report->first[i].line,
			 report->first[i].what);
	if (report->unreadable > shown)
		log_warn("%s: and %" PRIu64 " more lines skipped", path, report->unreadable - shown);
}

int inputs_read(const char *path, struct named_profile **ret, struct err *err)
{
	struct reader_report report = {0};
	int r = reader_open_profile(path, ret, &report, err);

	if (r == 0)
		warn_of_lines(path, &report);
	return r;
}

static void merge_meta(struct named_meta *to, const struct named_meta *m)
{
	to->lost += m->lost;
	to->complete += m->complete;
	to->resynchronised += m->resynchronised;
	to->incomplete += m->incomplete;
	to->frozen += m->frozen;
	to->no_record += m->no_record;
	to->duration_ns += m->duration_ns;
	for (size_t i = 0; i < sizeof(to->exactness) / sizeof(to->exactness[0]); i++)
		to->exactness[i] += m->exactness[i];
}

static void copy_meta(struct named_builder *b, const struct named_meta *m)
{
	struct named_meta *to = named_builder_meta(b);

	*to = *m;
	to->event = named_builder_keep(b, m->event);
	to->unit = named_builder_keep(b, m->unit);
	to->command = named_builder_keep(b, m->command);
	to->jdk = named_builder_keep(b, m->jdk);
	to->jsampler = named_builder_keep(b, m->jsampler);
}

static int check_event(const struct named_meta *a, const struct named_meta *b, const char *path,
		       struct err *err)
{
	if (strcmp(a->event ? a->event : "", b->event ? b->event : "") == 0)
		return 0;
	return err_set(err, -EINVAL, "'%s' has the event %.40s, the file before %.40s: they cannot be added up",
		       path, b->event ? b->event : "(none)", a->event ? a->event : "(none)");
}

static int add_file(struct named_builder *b, const char *path, bool first, struct err *err)
{
	struct named_profile *np;
	int r = inputs_read(path, &np, err);

	if (r < 0)
		return r;
	if (first)
		copy_meta(b, &np->meta);
	else
		r = check_event(named_builder_meta(b), &np->meta, path, err);
	if (r == 0 && !first)
		merge_meta(named_builder_meta(b), &np->meta);
	if (r == 0 && named_builder_add(b, np) < 0)
		r = err_set(err, -ENOMEM, "%s: out of memory", path);
	named_profile_free(np);
	return r;
}

int inputs_read_merged(char *const *paths, size_t n, struct named_profile **ret, struct err *err)
{
	struct named_builder *b;
	int r = 0;

	if (n == 1)
		return inputs_read(paths[0], ret, err);
	b = named_builder_new();
	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_file(b, paths[i], i == 0, err);
	if (r < 0) {
		named_builder_free(b);
		return r;
	}
	*ret = named_builder_take(b);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}
