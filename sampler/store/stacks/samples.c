#include "sampler/store/stacks/samples.h"

#include <errno.h>
#include <string.h>

#include "sampler/profile/named_builder.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/stacks_out.h"
#include "symbolizer/base/cleanup.h"

int samples_begin(struct samples *s, int64_t base_s)
{
	*s = (struct samples){.names = dictionary_new(), .base_s = base_s};
	return s->names ? 0 : -ENOMEM;
}

void samples_done(struct samples *s)
{
	dictionary_free(s->names);
	bucket_done(&s->sum);
	vec_done(&s->compiled);
}

static void keep_same(char *to, const char *from)
{
	if (strcmp(to, from) != 0)
		*to = '\0';
}

void target_texts_add(struct target_texts *to, const struct target_texts *from)
{
	if (!to->targets) {
		*to = *from;
	} else if (from->targets) {
		keep_same(to->jdk, from->jdk);
		keep_same(to->command, from->command);
		to->targets += from->targets;
	}
}

int samples_compiled(struct samples *s, uint32_t function, const struct named_compile *c)
{
	struct named_compile *to;
	uint32_t not_entrant;

	if (!vec_reach(&s->compiled, (size_t)function + 1, (struct named_compile){0}))
		return -ENOMEM;
	to = &s->compiled.v[function];
	not_entrant = to->not_entrant > c->not_entrant ? to->not_entrant : c->not_entrant;
	named_compile_add(to, c);
	to->not_entrant = not_entrant;
	return 0;
}

static const char *text(const struct samples *s, uint32_t string)
{
	return strtab_get(s->names->strings, string);
}

/* false: the stacks that are read are too many. The sample counts as lost. */
static bool has_room(struct samples *s, const struct bucket_count *c, uint64_t *frames)
{
	uint32_t depth = dictionary_depth(s->names, c->node);

	if (depth <= SAMPLES_FRAMES_MAX - *frames) {
		*frames += depth;
		return true;
	}
	s->left_out += c->count;
	return false;
}

static int name_counts(struct samples *s, struct stacks_out *out, struct named_builder *b)
{
	uint64_t frames = 0;

	for (uint32_t i = 0; i < s->sum.n; i++) {
		const struct bucket_count *c = &s->sum.counts[i];
		const uint32_t *label = dictionary_row(s->names, DICT_LABELS, c->label);
		struct named_sample to = {.count = c->count, .weight = c->weight};

		if (!has_room(s, c, &frames))
			continue;
		to.stack = stacks_out_stack(out, c->node);
		to.thread = named_builder_string(b, text(s, label[0]));
		to.state = named_builder_string(b, text(s, label[1]));
		if (named_builder_sample(b, &to) == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

/* Times before the first sample become its first millisecond. */
static uint32_t since_first(const struct samples *s, uint32_t ms)
{
	int64_t before = (s->first_s - s->base_s) * 1000;

	return !ms ? 0 : ms > before ? (uint32_t)(ms - before) : 1;
}

static void name_compiled(const struct samples *s, const struct stacks_out *out, struct named_builder *b)
{
	for (size_t i = 0; i < s->compiled.n; i++) {
		struct named_compile c = s->compiled.v[i];

		if (!out->functions[i]) /* functions without samples are not needed */
			continue;
		c.c1_ms = since_first(s, c.c1_ms);
		c.c2_ms = since_first(s, c.c2_ms);
		if (c.why_interpreted)
			c.why_interpreted = named_builder_string(b, text(s, c.why_interpreted));
		named_builder_compile(b, out->functions[i], &c);
	}
}

static void fill_meta(const struct samples *s, struct named_builder *b)
{
	struct named_meta *m = named_builder_meta(b);
	const uint64_t *sums = s->sum.sums;

	m->unit = named_builder_keep(b, text(s, s->unit));
	m->period = s->sum.period;
	m->start_realtime_ns = (uint64_t)s->first_s * 1000000000;
	m->duration_ns = (uint64_t)(s->last_s - s->first_s) * 1000000000;
	m->jdk = named_builder_keep(b, s->of.jdk);
	m->command = named_builder_keep(b, s->of.command);
	m->lost = sums[SUM_LOST] + s->left_out;
	m->complete = sums[SUM_COMPLETE];
	m->resynchronised = sums[SUM_RESYNCHRONISED];
	m->incomplete = sums[SUM_INCOMPLETE];
	m->frozen = sums[SUM_FROZEN];
	m->no_record = sums[SUM_NO_RECORD];
	for (int i = 0; i < 4; i++)
		m->exactness[i] = sums[SUM_EXACTNESS + i];
}

int samples_name(struct samples *s, struct named_builder *b)
{
	struct stacks_out out;
	int r = stacks_out_begin(&out, s->names, b);

	if (r == 0)
		r = name_counts(s, &out, b);
	if (r == 0)
		name_compiled(s, &out, b);
	stacks_out_done(&out);
	fill_meta(s, b);
	return r;
}
