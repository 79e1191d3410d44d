#include "sampler/output/frame_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/frame_text.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/strtab.h"

static int text_compare(const void *a, const void *b)
{
	return strcmp(((const struct frame_rank_text *)a)->s, ((const struct frame_rank_text *)b)->s);
}

/* Sets r->of_line to the id of the text of each line in r->strings. */
static bool render_texts(struct frame_ranks *r, const struct named_profile *np, bool annotate, bool lines)
{
	struct buf b = {0};
	bool ok = true;

	for (uint32_t i = 0; i < np->n_lines && ok; i++) {
		buf_reset(&b);
		frame_text_add(&b, np, &np->lines[i], annotate, lines);
		ok = !b.failed && (r->of_line[i] = strtab_add(r->strings, b.data, b.len)) != UINT32_MAX;
	}
	buf_done(&b);
	r->unknown = strtab_add_z(r->strings, "[unknown]");
	return ok && r->unknown != UINT32_MAX;
}

/* Replaces ids by ranks. */
static bool rank_texts(struct frame_ranks *r, uint32_t n_lines)
{
	uint32_t n = strtab_count(r->strings), *rank_of = calloc(n, sizeof(*rank_of));

	r->n = n;
	r->texts = calloc(n, sizeof(*r->texts));
	if (!rank_of || !r->texts) {
		free(rank_of);
		return false;
	}
	for (uint32_t id = 0; id < n; id++) {
		const char *s = strtab_get(r->strings, id);

		r->texts[id] = (struct frame_rank_text){s, strlen(s), id};
	}
	qsort(r->texts, n, sizeof(*r->texts), text_compare);
	for (uint32_t i = 0; i < n; i++)
		rank_of[r->texts[i].id] = i;
	for (uint32_t i = 0; i < n_lines; i++)
		r->of_line[i] = rank_of[r->of_line[i]];
	r->unknown = rank_of[r->unknown];
	free(rank_of);
	return true;
}

bool frame_ranks_make(struct frame_ranks *r, const struct named_profile *np, bool annotate, bool lines)
{
	*r = (struct frame_ranks){.strings = strtab_new(),
				  .of_line = calloc((size_t)np->n_lines + 1, sizeof(*r->of_line))};
	return r->strings && r->of_line && render_texts(r, np, annotate, lines) && rank_texts(r, np->n_lines);
}

void frame_ranks_done(struct frame_ranks *r)
{
	strtab_free(r->strings);
	free(r->texts);
	free(r->of_line);
}
