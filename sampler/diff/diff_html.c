#include "sampler/diff/diff_html.h"

#include <errno.h>
#include <stdlib.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/page.h"
#include "sampler/output/page_data.h"
#include "sampler/profile/named_builder.h"
#include "sampler/views/frames.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

/* Limit for the names of a side's files in the header of the page. */
enum { MAX_FILES_TEXT = 2000 };

static char *files_text(const char *const *paths, size_t n)
{
	struct buf b = {0};

	for (size_t i = 0; i < n && b.len < MAX_FILES_TEXT; i++)
		buf_printf(&b, "%s%.300s", i ? " " : "", paths[i]);
	return b.failed ? NULL : b.data;
}

/* A frame with only name and kind, because the sides share stacks of methods, not of addresses. */
static uint32_t add_frame(struct named_builder *b, const struct named_profile *np, const struct named_line *l)
{
	struct named_line line = {.kind = l->kind, .bci = -1};

	line.function = named_builder_function(b, frame_name_text(np, frame_name(np, l)), "", "");
	return named_builder_location(b, 0, 0, &line, 1);
}

static uint32_t add_stack(struct named_builder *b, const struct named_profile *np, struct frames *f, uint32_t stack)
{
	CLEANUP(free_at_exit) uint32_t *ids = NULL;
	uint32_t n = 0;

	if (frames_of(f, np, stack) < 0 || !(ids = calloc(f->list.n + 1, sizeof(*ids))))
		return UINT32_MAX;
	/* Threads have different ids on the two sides: as roots they would keep all stacks apart. */
	for (size_t i = 0; i < f->list.n; i++) {
		if (named_is_root_label(f->list.v[i]))
			continue;
		ids[n] = add_frame(b, np, f->list.v[i]);
		if (ids[n++] == UINT32_MAX)
			return UINT32_MAX;
	}
	return named_builder_stack(b, ids, n);
}

static int add_file(struct named_builder *b, const struct named_profile *np, const struct named_sample *label)
{
	CLEANUP(frames_done) struct frames f = {0};

	for (uint32_t i = 0; i < np->n_samples; i++) {
		struct named_sample s = *label;

		s.count = np->samples[i].count;
		s.weight = s.count;
		s.stack = add_stack(b, np, &f, np->samples[i].stack);
		if (s.stack == UINT32_MAX || named_builder_sample(b, &s) == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

static int add_side(struct named_builder *b, const struct named_profile *const *profiles, const char *const *paths,
		    size_t n, const char *side)
{
	CLEANUP(free_at_exit) char *files = files_text(paths, n);
	struct named_sample label = {0};
	int r = 0;

	if (!files)
		return -ENOMEM;
	label.thread = named_builder_string(b, files);
	label.state = named_builder_string(b, side);
	if (label.thread == UINT32_MAX || label.state == UINT32_MAX)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_file(b, profiles[i], &label);
	return r;
}

static struct named_profile *both_sides(const struct named_profile *const *profiles, const char *const *paths,
					size_t n_before, size_t n_after)
{
	struct named_builder *b = named_builder_new();
	struct named_meta *m = b ? named_builder_meta(b) : NULL;

	if (!b)
		return NULL;
	m->event = "samples";
	m->unit = "count";
	m->period = 1;
	m->command = m->jdk = m->jsampler = "";
	if (add_side(b, profiles, paths, n_before, "before") < 0 ||
	    add_side(b, profiles + n_before, paths + n_before, n_after, "after") < 0) {
		named_builder_free(b);
		return NULL;
	}
	return named_builder_take(b);
}

int diff_html_write(const struct named_profile *const *profiles, const char *const *paths, size_t n_before,
		    size_t n_after, FILE *out, struct err *err)
{
	struct named_profile *np = both_sides(profiles, paths, n_before, n_after);
	int r = np ? 0 : -ENOMEM;

	if (r == 0) {
		fwrite(page_diff_head, 1, page_diff_head_len, out);
		r = page_data_write(np, out);
		fwrite(page_diff_tail, 1, page_diff_tail_len, out);
		named_profile_free(np);
	}
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}
