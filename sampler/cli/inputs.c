#include "sampler/cli/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "sampler/closed/opener.h"
#include "sampler/input/reader.h"
#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

static void warn_of_lines(const char *path, const struct reader_report *report)
{
	uint64_t shown = report->unreadable < READER_PROBLEMS ? report->unreadable : READER_PROBLEMS;

	for (uint64_t i = 0; i < shown; i++)
		log_warn("%s: line %" PRIu64 ": %s; skipped", path, report->first[i].line, report->first[i].what);
	if (report->unreadable > shown)
		log_warn("%s: and %" PRIu64 " more lines skipped", path, report->unreadable - shown);
	if (report->truncated)
		log_warn("%s: %" PRIu64 " stacks are deeper than %d frames; their roots are [truncated]", path,
			 report->truncated, READER_DEPTH);
	if (report->storage_limit)
		log_warn("%s: more different stacks than fit into %d MiB; %" PRIu64
			 " samples are counted under [storage limit]",
			 path, READER_MEMORY >> 20, report->storage_limit);
}

int inputs_check(const char *const *paths, size_t n, struct err *err)
{
	size_t stdins = 0;

	for (size_t i = 0; i < n; i++)
		stdins += strcmp(paths[i], "-") == 0;
	return stdins > 1 ? err_set(err, -EINVAL, "-: stdin can be read only once") : 0;
}

static int read_profile(struct opener *o, const char *path, struct named_profile **ret, struct reader_report *report,
			struct err *err)
{
	int fd;

	if (strcmp(path, "-") == 0)
		return reader_open_profile(path, ret, report, err);
	fd = opener_input(o, path);
	if (fd < 0)
		return err_set(err, fd, "cannot read '%s': %s", path, strerror(-fd));
	return reader_read_profile(fd, path, ret, report, err);
}

int inputs_read(struct opener *o, const char *path, struct named_profile **ret, struct err *err)
{
	struct reader_report report = {0};
	int r = read_profile(o, path, ret, &report, err);

	if (r == 0)
		warn_of_lines(path, &report);
	return r;
}

static void merge_meta(struct named_meta *to, const struct named_meta *m)
{
	named_meta_add_counts(to, m);
	to->duration_ns += m->duration_ns;
	to->lines_shown |= m->lines_shown;
	if (m->start_realtime_ns && m->start_realtime_ns < to->start_realtime_ns)
		to->start_realtime_ns = m->start_realtime_ns;
}

/* True of folded text: the weights are only counts. */
static bool counts_alone(const struct named_meta *m)
{
	return strcmp(m->unit, "count") == 0 || strcmp(m->unit, "samples") == 0;
}

static void weigh_by_count(struct named_profile *np)
{
	for (uint32_t i = 0; i < np->n_samples; i++)
		np->samples[i].weight = np->samples[i].count;
}

/* Different units cannot be added up. Counts can, and all files have counts. */
static int join_events(struct named_meta *to, const struct named_meta *m, const char *path, struct err *err)
{
	if (strcmp(to->event, m->event) == 0 && strcmp(to->unit, m->unit) == 0) {
		to->period = to->period == m->period ? to->period : 0;
		return 0;
	}
	if (!counts_alone(to) && !counts_alone(m))
		return err_set(err, -EINVAL,
			       "'%.200s' has %.40s in %.40s, the files before it %.40s in %.40s: "
			       "they cannot be added up",
			       path, m->event, m->unit, to->event, to->unit);
	if (!counts_alone(to) || !counts_alone(m))
		log_warn("%s: this file or those before it have only counts, so the result has only counts", path);
	to->event = "samples";
	to->unit = "count";
	to->period = 1;
	return 0;
}

static int add_profile(struct named_builder *b, const struct named_profile *np, const char *path, bool first,
		       struct err *err)
{
	int r = 0;

	if (first)
		named_builder_copy_meta(b, &np->meta);
	else
		r = join_events(named_builder_meta(b), &np->meta, path, err);
	if (r == 0 && !first)
		merge_meta(named_builder_meta(b), &np->meta);
	if (r == 0 && named_builder_add(b, np) < 0)
		r = err_set(err, -ENOMEM, "%s: out of memory", path);
	return r;
}

static int finish(struct named_builder *b, int r, struct named_profile **ret, struct err *err)
{
	if (r < 0) {
		named_builder_free(b);
		return r;
	}
	*ret = named_builder_take(b);
	if (!*ret)
		return err_set(err, -ENOMEM, "out of memory");
	if (counts_alone(&(*ret)->meta))
		weigh_by_count(*ret);
	return 0;
}

int inputs_merge(const struct named_profile *const *profiles, const char *const *paths, size_t n,
		 struct named_profile **ret, struct err *err)
{
	struct named_builder *b = named_builder_new();
	int r = b ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_profile(b, profiles[i], paths[i], i == 0, err);
	return finish(b, r, ret, err);
}

/* Reads one file at a time, so that only the sum is kept in memory. */
int inputs_read_merged(struct opener *o, char *const *paths, size_t n, struct named_profile **ret, struct err *err)
{
	struct named_builder *b;
	int r = 0;

	if (n == 1)
		return inputs_read(o, paths[0], ret, err);
	b = named_builder_new();
	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct named_profile *np = NULL;

		r = inputs_read(o, paths[i], &np, err);
		if (r == 0)
			r = add_profile(b, np, paths[i], i == 0, err);
		named_profile_free(np);
	}
	return finish(b, r, ret, err);
}
