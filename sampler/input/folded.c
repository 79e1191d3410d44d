#include "sampler/input/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "sampler/input/folded_frame.h"
#include "sampler/input/reader.h"
#include "sampler/input/source.h"
#include "sampler/model/frame_key.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/vec.h"

/* Meaning of a distinct frame text. */
struct frame {
	struct named_line line;
	uint32_t location; /* in this line only; 0: not yet made */
};

struct folded_run {
	struct named_builder *b;
	struct strtab *texts;
	VEC(struct frame) frames; /* by text id; [0] is the empty text */
	VEC(uint32_t) ids; /* texts of the current line, root first */
	VEC(uint32_t) locations; /* of the current line, leaf first */
	VEC(struct named_line) lines; /* of one location, innermost first */
	uint32_t mappings[NAMED_KINDS]; /* by kind; 0: not yet made, or none */
	struct buf name;
	struct reader_report *report;
	uint64_t line; /* number of the current line */
	uint64_t total; /* samples so far */
	bool lines_shown;
	bool full; /* READER_MEMORY is reached */
};

/* Finds the count at the end, and the end of the stack before it. flamegraph.pl also accepts 12.0. */
static const char *take_count(const char *text, size_t len, size_t *ret_stack, uint64_t *ret)
{
	const char *sp = memrchr(text, ' ', len), *p, *end = text + len;
	uint64_t v = 0;

	if (!sp)
		sp = memrchr(text, '\t', len);
	if (!sp || sp == text || sp + 1 == end)
		return "not a stack with a count after it";
	for (p = sp + 1; p < end && *p >= '0' && *p <= '9'; p++) {
		if (v > (uint64_t)INT64_MAX / 10 - 1)
			return "its count is too large";
		v = v * 10 + (*p - '0');
	}
	if (p == sp + 1)
		return "no whole number at its end";
	if (p < end && *p == '.')
		for (p++; p < end && *p == '0'; p++)
			;
	if (p < end)
		return "no whole number at its end";
	*ret_stack = sp - text;
	*ret = v;
	return NULL;
}

static bool frame_new(struct folded_run *r, const char *text, size_t len)
{
	struct folded_frame f = folded_frame_parse(text, len);
	struct folded_root root = folded_root_parse(text, len);
	struct frame fr = {.line = {.line = f.line, .bci = -1, .kind = f.kind, .tier = f.tier}};

	if (root.kind != NAMED_UNKNOWN)
		fr.line.kind = root.kind;
	r->lines_shown |= f.line > 0;
	buf_reset(&r->name);
	buf_add(&r->name, text, f.name_len);
	if (r->name.failed)
		return false;
	fr.line.function = named_builder_function(r->b, f.name_len ? r->name.data : "", "", "");
	return fr.line.function != UINT32_MAX && vec_push(&r->frames, fr);
}

static bool add_frame(struct folded_run *r, const char *text, size_t len)
{
	uint32_t id = strtab_add(r->texts, text, len);

	if (id == UINT32_MAX || (id == r->frames.n && !frame_new(r, text, len)))
		return false;
	return vec_push(&r->ids, id);
}

static bool add_mark(struct folded_run *r, const char *text)
{
	return add_frame(r, text, strlen(text));
}

static size_t count_frames(const char *text, const char *end)
{
	size_t n = 1;

	while ((text = memchr(text, ';', end - text))) {
		text++;
		n++;
	}
	return n;
}

/* Splits a stack into frames. Those that are too far from the leaf are left out, but for synthetic roots. */
static bool split(struct folded_run *r, const char *text, size_t len)
{
	const char *end = text + len, *semicolon;
	size_t n = count_frames(text, end), kept_from = n > READER_DEPTH ? n - READER_DEPTH : 0;
	bool root = true;

	r->ids.n = 0;
	r->report->truncated += kept_from > 0;
	for (size_t i = 0; i < n; i++) {
		semicolon = memchr(text, ';', end - text);
		len = (semicolon ? semicolon : end) - text;
		root = root && i < kept_from && folded_root_parse(text, len).kind != NAMED_UNKNOWN;
		if (i && i == kept_from && !add_mark(r, frame_mark_text(MARK_TRUNCATED)))
			return false;
		if ((root || i >= kept_from) && !add_frame(r, text, len))
			return false;
		text += len + 1;
	}
	return true;
}

/* As in a recording, as far as the text allows. */
static uint32_t mapping_of(struct folded_run *r, uint8_t kind)
{
	static const char *const files[NAMED_KINDS] = {
		[NAMED_KERNEL] = "[kernel]", [NAMED_INTERPRETED] = "[interpreter]",
		[NAMED_C1] = "[jit]",        [NAMED_C2] = "[jit]",
		[NAMED_INLINED] = "[jit]",
	};

	if (files[kind] && !r->mappings[kind])
		r->mappings[kind] = named_builder_mapping(r->b, files[kind], "");
	return r->mappings[kind];
}

static uint32_t plain_location(struct folded_run *r, uint32_t id)
{
	struct frame *f = &r->frames.v[id];

	if (!f->location)
		f->location = named_builder_location(r->b, mapping_of(r, f->line.kind), 0, &f->line, 1);
	return f->location;
}

static bool is_compiled(const struct named_line *l)
{
	return l->kind == NAMED_C1 || l->kind == NAMED_C2;
}

/* The location of frame `at` with the n inlined ones that follow. */
static uint32_t inlined_location(struct folded_run *r, size_t at, size_t n)
{
	const struct named_line *outer = &r->frames.v[r->ids.v[at]].line;

	r->lines.n = 0;
	for (size_t i = n; i-- > 0;) {
		struct named_line l = r->frames.v[r->ids.v[at + 1 + i]].line;

		l.tier = outer->tier;
		if (!vec_push(&r->lines, l))
			return UINT32_MAX;
	}
	if (!vec_push(&r->lines, *outer))
		return UINT32_MAX;
	return named_builder_location(r->b, mapping_of(r, outer->kind), 0, r->lines.v, r->lines.n);
}

/* The location that begins with frame *at, which is advanced past it. */
static uint32_t take_location(struct folded_run *r, size_t *at)
{
	size_t first = (*at)++;

	if (is_compiled(&r->frames.v[r->ids.v[first]].line))
		while (*at < r->ids.n && r->frames.v[r->ids.v[*at]].line.kind == NAMED_INLINED)
			(*at)++;
	if (*at - first == 1)
		return plain_location(r, r->ids.v[first]);
	return inlined_location(r, first, *at - first - 1);
}

static bool locate(struct folded_run *r)
{
	size_t n;

	r->locations.n = 0;
	for (size_t at = 0; at < r->ids.n;) {
		uint32_t location = take_location(r, &at);

		if (location == UINT32_MAX || !vec_push(&r->locations, location))
			return false;
	}
	n = r->locations.n;
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t t = r->locations.v[i];

		r->locations.v[i] = r->locations.v[n - 1 - i];
		r->locations.v[n - 1 - i] = t;
	}
	return true;
}

static uint32_t label(struct folded_run *r, const struct folded_root *root)
{
	buf_reset(&r->name);
	buf_add(&r->name, root->name, root->name_len);
	if (r->name.failed)
		return UINT32_MAX;
	return root->name_len ? named_builder_string(r->b, r->name.data) : 0;
}

/* Labels from roots: process, thread, state, in this order; each is optional. */
static bool take_labels(struct folded_run *r, struct named_sample *s)
{
	uint8_t least = NAMED_UNKNOWN;
	static const uint8_t rank[NAMED_KINDS] = {[NAMED_PROCESS] = 1, [NAMED_THREAD] = 2, [NAMED_STATE] = 3};

	for (size_t i = 0; i < r->ids.n && i < 3; i++) {
		const char *text = strtab_get(r->texts, r->ids.v[i]);
		struct folded_root root = folded_root_parse(text, strlen(text));

		if (rank[root.kind] <= least)
			break;
		least = rank[root.kind];
		if (root.kind == NAMED_PROCESS)
			s->pid = root.id;
		else if (root.kind == NAMED_THREAD)
			s->tid = root.id, s->thread = label(r, &root);
		else
			s->state = label(r, &root);
		if (s->thread == UINT32_MAX || s->state == UINT32_MAX)
			return false;
	}
	return true;
}

static bool is_full(struct folded_run *r)
{
	r->full = r->full || named_builder_bytes(r->b) + strtab_bytes(r->texts) + r->frames.cap * sizeof(struct frame) >
				     READER_MEMORY;
	return r->full;
}

static bool add_stack(struct folded_run *r, const char *text, size_t len, uint64_t count)
{
	struct named_sample s = {.count = count, .weight = count};

	if (is_full(r)) {
		r->ids.n = 0;
		r->report->storage_limit += count;
		if (!add_mark(r, frame_mark_text(MARK_STORAGE_LIMIT)))
			return false;
	} else if (!split(r, text, len)) {
		return false;
	}
	if (!locate(r) || !take_labels(r, &s))
		return false;
	s.stack = named_builder_stack(r->b, r->locations.v, r->locations.n);
	return s.stack != UINT32_MAX && named_builder_sample(r->b, &s) != UINT32_MAX;
}

static bool add_line(struct folded_run *r, const char *text, size_t len)
{
	const char *problem;
	uint64_t count = 0;
	size_t stack = 0;

	if (text && !len)
		return true;
	r->report->lines++;
	if (!text)
		problem = "longer than 64 MiB";
	else if (memchr(text, '\0', len))
		problem = "a NUL byte";
	else
		problem = take_count(text, len, &stack, &count);
	if (!problem && count > (uint64_t)INT64_MAX - r->total)
		problem = "counts add up to more than 2^63";
	if (problem) {
		reader_report_problem(r->report, r->line, problem);
		return true;
	}
	r->total += count;
	return !count || add_stack(r, text, stack, count);
}

static int read_lines(struct folded_run *r, struct source *s, struct err *err)
{
	char *text;
	size_t len;
	int rc;

	while ((rc = source_line(s, &text, &len, err)) > 0) {
		r->line++;
		if (!add_line(r, text, len))
			return err_set(err, -ENOMEM, "'%s': out of memory at line %" PRIu64, source_name(s), r->line);
	}
	return rc;
}

static void set_meta(struct folded_run *r)
{
	struct named_meta *m = named_builder_meta(r->b);

	m->event = named_builder_keep(r->b, "samples");
	m->unit = named_builder_keep(r->b, "count");
	m->period = 1;
	m->lines_shown = r->lines_shown;
}

int folded_read(struct source *s, struct named_builder *b, struct reader_report *report, struct err *err)
{
	struct folded_run r = {.b = b, .report = report, .texts = strtab_new()};
	int rc;

	if (r.texts && frame_new(&r, "", 0))
		rc = read_lines(&r, s, err);
	else
		rc = err_set(err, -ENOMEM, "out of memory");
	set_meta(&r);
	strtab_free(r.texts);
	vec_done(&r.frames);
	vec_done(&r.ids);
	vec_done(&r.locations);
	vec_done(&r.lines);
	buf_done(&r.name);
	return rc;
}
