#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/frame_text.h"
#include "sampler/output/writer.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/json.h"
#include "symbolizer/base/map.h"

/*
 * speedscope's own format (https://www.speedscope.app/file-format-schema.json): a table of frames, and one "sampled"
 * profile. A frame is its text, file and, with --lines, line; equal ones are one frame. Stacks are root first.
 * Weights are the event's if speedscope knows the unit, otherwise counts of samples.
 */
struct scope_key {
	uint32_t text, file;
	int32_t line;
};

struct frame {
	struct scope_key key;
	uint32_t number; /* from 1 on */
	UT_hash_handle hh;
};

struct scope {
	const struct named_profile *np;
	const struct writer_options *o;
	struct json json;
	struct strtab *texts;
	struct frame *frames; /* in order of their ids */
	uint32_t n_frames;
	uint32_t *frame_of; /* by line of the profile */
	uint32_t unknown;
	uint64_t *weights; /* by stack */
	uint64_t total;
	const char *unit;
};

static uint32_t frame_id(struct scope *s, const char *text, uint32_t file, int32_t line)
{
	struct scope_key key = {strtab_add_z(s->texts, text), file, line};
	struct frame *f = key.text == UINT32_MAX ? NULL : map_entry(s->frames, &key);

	if (!f)
		return UINT32_MAX;
	if (!f->number)
		f->number = ++s->n_frames;
	return f->number - 1;
}

static bool make_frames(struct scope *s)
{
	const struct named_profile *np = s->np;
	struct buf text = {0};
	bool ok = true;

	for (uint32_t i = 0; i < np->n_lines && ok; i++) {
		const struct named_line *l = &np->lines[i];

		buf_reset(&text);
		frame_text_add(&text, np, l, s->o->annotate, false);
		if (!text.failed)
			s->frame_of[i] =
				frame_id(s, text.data, np->functions[l->function].file, s->o->lines ? l->line : 0);
		ok = !text.failed && s->frame_of[i] != UINT32_MAX;
	}
	buf_done(&text);
	s->unknown = ok ? frame_id(s, "[unknown]", 0, 0) : UINT32_MAX;
	return ok && s->unknown != UINT32_MAX;
}

/* Units of the file format; counts have "none". */
static const char *unit_of(const struct named_profile *np)
{
	static const char *const units[] = {"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(np->meta.unit, units[i]))
			return units[i];
	return "none";
}

static void add_weights(struct scope *s)
{
	for (uint32_t i = 0; i < s->np->n_samples; i++) {
		const struct named_sample *n = &s->np->samples[i];
		uint64_t w = strcmp(s->unit, "none") ? n->weight : n->count;

		s->weights[n->stack] += w;
		s->total += w;
	}
}

static void put_frames(struct scope *s)
{
	struct json *j = &s->json;

	json_member_open(j, "shared", '{');
	json_member_open(j, "frames", '[');
	for (const struct frame *f = s->frames; f; f = f->hh.next) {
		json_line(j);
		json_open(j, '{');
		json_member_text(j, "name", strtab_get(s->texts, f->key.text));
		if (f->key.file)
			json_member_text(j, "file", named_string(s->np, f->key.file));
		if (f->key.line > 0)
			json_member_uint(j, "line", f->key.line);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void put_stack(struct scope *s, const struct named_stack *stack)
{
	const struct named_profile *np = s->np;

	json_open(&s->json, '[');
	if (!stack->n)
		json_uint(&s->json, s->unknown);
	for (uint32_t i = stack->n; i-- > 0;) {
		const struct named_location *l = &np->locations[np->stack_locations[stack->first + i]];

		if (!l->n_lines)
			json_uint(&s->json, s->unknown);
		for (uint32_t k = l->n_lines; k-- > 0;)
			json_uint(&s->json, s->frame_of[l->first_line + k]);
	}
	json_close(&s->json, ']');
}

static void put_samples(struct scope *s)
{
	struct json *j = &s->json;

	json_line(j);
	json_member_open(j, "samples", '[');
	for (uint32_t i = 0; i < s->np->n_stacks; i++) {
		if (!s->weights[i])
			continue;
		json_line(j);
		put_stack(s, &s->np->stacks[i]);
	}
	json_close(j, ']');
	json_line(j);
	json_member_open(j, "weights", '[');
	for (uint32_t i = 0; i < s->np->n_stacks; i++)
		if (s->weights[i])
			json_uint(j, s->weights[i]);
	json_close(j, ']');
}

static void put_profile(struct scope *s)
{
	struct json *j = &s->json;

	json_member_open(j, "profiles", '[');
	json_open(j, '{');
	json_member_text(j, "type", "sampled");
	json_member_text(j, "name", s->np->meta.event);
	json_member_text(j, "unit", s->unit);
	json_member_uint(j, "startValue", 0);
	json_member_uint(j, "endValue", s->total);
	put_samples(s);
	json_close(j, '}');
	json_close(j, ']');
}

static void put_file(struct scope *s)
{
	struct json *j = &s->json;
	const char *command = s->np->meta.command;

	json_open(j, '{');
	json_member_text(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_line(j);
	json_member_text(j, "exporter", "jsampler " JS_VERSION);
	json_line(j);
	json_member_text(j, "name", *command ? command : "jsampler");
	json_line(j);
	json_member_uint(j, "activeProfileIndex", 0);
	json_line(j);
	put_frames(s);
	json_line(j);
	put_profile(s);
	json_close(j, '}');
	fputc('\n', j->out);
}

static void scope_done(struct scope *s)
{
	map_free(s->frames);
	strtab_free(s->texts);
	free(s->frame_of);
	free(s->weights);
}

static int speedscope_write(const struct named_profile *np, const struct writer_options *o, FILE *out, struct err *err)
{
	struct scope s = {.np = np, .o = o, .json = {.out = out}, .unit = unit_of(np)};
	int rc = 0;

	s.texts = strtab_new();
	s.frame_of = calloc((size_t)np->n_lines + 1, sizeof(*s.frame_of));
	s.weights = calloc((size_t)np->n_stacks + 1, sizeof(*s.weights));
	errno = 0;
	if (s.texts && s.frame_of && s.weights && make_frames(&s)) {
		add_weights(&s);
		put_file(&s);
	} else {
		rc = err_set(err, -ENOMEM, "out of memory");
	}
	scope_done(&s);
	return rc ? rc : writer_end(out, 0, err);
}

const struct writer writer_speedscope = {
	.name = "speedscope",
	.endings = ".speedscope.json .json",
	.write = speedscope_write,
};
