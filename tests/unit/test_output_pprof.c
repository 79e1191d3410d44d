#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "sampler/input/reader.h"
#include "sampler/output/writer.h"
#include "sampler/pprof/profile.pb-c.h"
#include "sampler/profile/named_builder.h"
#include "symbolizer/base/err.h"
#include "tests/support/folded_files.h"

/* What a writer makes of a profile; the caller's to free. */
static char *print(const struct named_profile *np, const struct writer *w, bool lines, size_t *len)
{
	const struct writer_options o = {.annotate = true, .lines = lines};
	char *got = NULL;
	FILE *f = open_memstream(&got, len);

	assert_int_equal(w->write(np, &o, f, NULL), 0);
	fclose(f);
	return got;
}

static void unpack(const char *packed, size_t len, char **ret, size_t *ret_len)
{
	size_t cap = 8 << 20;
	z_stream z = {.next_in = (Bytef *)packed, .avail_in = len};

	*ret = malloc(cap);
	z.next_out = (Bytef *)*ret;
	z.avail_out = cap;
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	*ret_len = z.total_out;
	inflateEnd(&z);
}

static struct named_profile *parse(const char *bytes, size_t len)
{
	struct named_profile *np = NULL;
	struct reader_report report;
	struct err err = {0};

	if (reader_parse_profile(bytes, len, "test", &np, &report, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(report.format, "pprof");
	return np;
}

/* Through pprof and back. */
static struct named_profile *there_and_back(const struct named_profile *np)
{
	struct named_profile *back;
	size_t packed_len, len;
	char *packed = print(np, &writer_pprof, false, &packed_len), *bytes;

	unpack(packed, packed_len, &bytes, &len);
	back = parse(bytes, len);
	free(packed);
	free(bytes);
	return back;
}

static void check_same(const struct named_profile *a, const struct named_profile *b, const struct writer *w)
{
	size_t a_len, b_len;
	char *a_text = print(a, w, true, &a_len), *b_text = print(b, w, true, &b_len);

	assert_int_equal(a_len, b_len);
	assert_memory_equal(a_text, b_text, a_len);
	free(a_text);
	free(b_text);
}

static void check_recorded(const char *text, size_t len)
{
	struct named_profile *np, *back;
	size_t got_len;
	char *got;

	assert_int_equal(reader_parse_profile(text, len, "x.folded", &np, NULL, NULL), 0);
	back = there_and_back(np);
	got = print(back, &writer_folded, back->meta.lines_shown, &got_len);
	assert_string_equal(got, text);
	check_same(np, back, &writer_html);
	check_same(np, back, &writer_digest);
	named_profile_free(np);
	named_profile_free(back);
	free(got);
}

static void folded_text_comes_back(void **state)
{
	(void)state;
	each_folded_file(check_recorded);
}

static struct named_line line(uint32_t function, int32_t number, enum named_kind kind)
{
	return (struct named_line){.function = function, .line = number, .bci = -1, .kind = kind};
}

static void set_meta(struct named_builder *b)
{
	struct named_meta *m = named_builder_meta(b);

	m->event = named_builder_keep(b, "cpu");
	m->unit = named_builder_keep(b, "nanoseconds");
	m->command = named_builder_keep(b, "java -jar shop.jar: \x1b[0m");
	m->jdk = named_builder_keep(b, "25.0.3");
	m->jsampler = named_builder_keep(b, "jsampler -p 7");
	m->period = 10101010;
	m->start_realtime_ns = UINT64_C(1790000000000000000);
	m->duration_ns = 30000000000;
	m->slice_ns = 1000000000;
	m->lost = 3;
	m->complete = 40;
	m->exactness[1] = 5;
	m->exactness[3] = 6;
	m->no_record = 11;
	m->lines_shown = true;
}

/* Everything that a named profile may hold, and references to "none". */
static struct named_profile *make_full(void)
{
	struct named_builder *b = named_builder_new();
	uint32_t run = named_builder_function(b, "a/B.run", "a/B.run()V", "a/B.java"),
		 hash = named_builder_function(b, "a/B.hash;x", "a/B.hash(I)I", "a/B.java"),
		 copy = named_builder_function(b, "memcpy_[j]", "_Zmemcpy", ""),
		 bytes = named_builder_function(b, "\xff\x01", "", ""),
		 root = named_builder_function(b, "[main tid=7]", "", ""), jit = named_builder_mapping(b, "[jit]", ""),
		 kernel = named_builder_mapping(b, "[kernel]", ""),
		 libc = named_builder_mapping(b, "/usr/lib/libc.so.6", "0123456789abcdef");
	struct named_line compiled[] = {line(hash, 12, NAMED_INLINED), line(run, 7, NAMED_C2)};
	struct named_line one;
	uint32_t at[8], n = 0;
	struct named_sample s = {.count = 4, .weight = 40, .pid = 7, .tid = 8, .slice = 2};

	compiled[0].bci = 0;
	compiled[0].tier = compiled[1].tier = 4;
	compiled[0].exactness = compiled[1].exactness = 3;
	compiled[1].osr = true;
	compiled[1].bci = 65535;
	named_builder_compile(
		b, run,
		&(struct named_compile){.why_interpreted = named_builder_string(b, "its code is too long"),
					.c1_ms = 5,
					.c2_ms = 4000000000u,
					.not_entrant = 2});
	one = line(copy, 0, NAMED_NATIVE);
	at[n++] = named_builder_location(b, libc, 0x1234, &one, 1);
	one = line(bytes, 0, NAMED_KERNEL);
	at[n++] = named_builder_location(b, kernel, 0, &one, 1);
	at[n++] = 0; /* no location */
	one = line(0, 0, NAMED_STUB); /* no function */
	at[n++] = named_builder_location(b, 0, 0, &one, 1);
	at[n++] = named_builder_location(b, jit, 0, compiled, 2);
	one = line(root, 0, NAMED_THREAD);
	at[n++] = named_builder_location(b, 0, 0, &one, 1);
	s.thread = named_builder_string(b, "main");
	s.state = named_builder_string(b, "blocked");
	s.stack = named_builder_stack(b, at, n);
	named_builder_sample(b, &s);
	s = (struct named_sample){.stack = named_builder_stack(b, at, 0), .count = 1, .weight = 9};
	named_builder_sample(b, &s);
	set_meta(b);
	return named_builder_take(b);
}

static const struct named_line *line_at(const struct named_profile *np, uint32_t location, uint32_t n)
{
	const struct named_stack *s = &np->stacks[np->samples[0].stack];

	return &np->lines[np->locations[np->stack_locations[s->first + location]].first_line + n];
}

static void check_line(const struct named_profile *a, const struct named_profile *b, uint32_t location, uint32_t n)
{
	const struct named_line *x = line_at(a, location, n), *y = line_at(b, location, n);
	const struct named_function *f = &a->functions[x->function], *g = &b->functions[y->function];

	assert_int_equal(x->line, y->line);
	assert_int_equal(x->bci, y->bci);
	assert_int_equal(x->kind, y->kind);
	assert_int_equal(x->tier, y->tier);
	assert_int_equal(x->exactness, y->exactness);
	assert_int_equal(x->osr, y->osr);
	assert_string_equal(named_string(a, f->system_name), named_string(b, g->system_name));
	assert_string_equal(named_string(a, f->file), named_string(b, g->file));
	assert_string_equal(named_string(a, f->compile.why_interpreted), named_string(b, g->compile.why_interpreted));
	assert_int_equal(f->compile.c1_ms, g->compile.c1_ms);
	assert_int_equal(f->compile.c2_ms, g->compile.c2_ms);
	assert_int_equal(f->compile.not_entrant, g->compile.not_entrant);
}

static void nothing_is_lost(void **state)
{
	struct named_profile *np = make_full(), *back = there_and_back(np);
	const struct named_sample *s = &back->samples[0];
	const struct named_mapping *m;

	(void)state;
	check_same(np, back, &writer_folded);
	check_same(np, back, &writer_speedscope);
	assert_int_equal(back->n_samples, 2);
	assert_int_equal(s->count, 4);
	assert_int_equal(s->weight, 40);
	assert_int_equal(s->pid, 7);
	assert_int_equal(s->tid, 8);
	assert_int_equal(s->slice, 2);
	assert_string_equal(named_string(back, s->thread), "main");
	assert_string_equal(named_string(back, s->state), "blocked");
	for (uint32_t i = 0; i < 6; i++)
		if (i != 2)
			check_line(np, back, i, 0);
	check_line(np, back, 4, 1);
	m = &back->mappings[back->locations[back->stack_locations[0]].mapping];
	assert_string_equal(named_string(back, m->file), "/usr/lib/libc.so.6");
	assert_string_equal(named_string(back, m->build_id), "0123456789abcdef");
	assert_int_equal(back->locations[back->stack_locations[0]].address, 0x1234);
	named_profile_free(np);
	named_profile_free(back);
}

static void meta_comes_back(void **state)
{
	struct named_profile *np = make_full(), *back = there_and_back(np);
	const struct named_meta *m = &back->meta;

	(void)state;
	assert_string_equal(m->event, "cpu");
	assert_string_equal(m->unit, "nanoseconds");
	assert_string_equal(m->command, "java -jar shop.jar: ?[0m");
	assert_string_equal(m->jdk, "25.0.3");
	assert_string_equal(m->jsampler, "jsampler -p 7");
	assert_int_equal(m->period, 10101010);
	assert_int_equal(m->start_realtime_ns, np->meta.start_realtime_ns);
	assert_int_equal(m->duration_ns, np->meta.duration_ns);
	assert_int_equal(m->slice_ns, np->meta.slice_ns);
	assert_int_equal(m->lost, 3);
	assert_int_equal(m->complete, 40);
	assert_int_equal(m->exactness[1], 5);
	assert_int_equal(m->exactness[3], 6);
	assert_int_equal(m->no_record, 11);
	assert_true(m->lines_shown);
	named_profile_free(np);
	named_profile_free(back);
}

/* Stricter readers than ours want ids 1, 2, 3, ..., and files before pseudo mappings. */
static void ids_are_consecutive(void **state)
{
	struct named_profile *np = make_full();
	size_t packed_len, len;
	char *packed = print(np, &writer_pprof, false, &packed_len), *bytes;
	Pprof__Profile *p;

	(void)state;
	unpack(packed, packed_len, &bytes, &len);
	p = pprof__profile__unpack(NULL, len, (uint8_t *)bytes);
	assert_non_null(p);
	assert_string_equal(p->string_table[0], "");
	assert_int_equal(p->n_sample_type, 2);
	assert_string_equal(p->string_table[p->sample_type[0]->type], "samples");
	assert_string_equal(p->string_table[p->sample_type[0]->unit], "count");
	assert_string_equal(p->string_table[p->sample_type[1]->type], "cpu");
	assert_string_equal(p->string_table[p->sample_type[1]->unit], "nanoseconds");
	assert_int_equal(p->n_location, np->n_locations);
	for (size_t i = 0; i < p->n_location; i++)
		assert_int_equal(p->location[i]->id, i + 1);
	assert_int_equal(p->n_function, np->n_functions);
	for (size_t i = 0; i < p->n_function; i++)
		assert_int_equal(p->function[i]->id, i + 1);
	assert_int_equal(p->n_mapping, 3);
	for (size_t i = 0; i < p->n_mapping; i++)
		assert_int_equal(p->mapping[i]->id, i + 1);
	assert_string_equal(p->string_table[p->mapping[0]->filename], "/usr/lib/libc.so.6");
	assert_int_equal(p->mapping[0]->memory_limit, 0x1235);
	pprof__profile__free_unpacked(p, NULL);
	free(packed);
	free(bytes);
	named_profile_free(np);
}

static void counts_need_one_value(void **state)
{
	struct named_profile *np, *back;
	size_t packed_len, len;
	char *packed, *bytes;
	Pprof__Profile *p;

	(void)state;
	assert_int_equal(reader_parse_profile("a;b 5\n", 6, "f", &np, NULL, NULL), 0);
	packed = print(np, &writer_pprof, false, &packed_len);
	unpack(packed, packed_len, &bytes, &len);
	p = pprof__profile__unpack(NULL, len, (uint8_t *)bytes);
	assert_int_equal(p->n_sample_type, 1);
	assert_int_equal(p->sample[0]->n_value, 1);
	back = parse(bytes, len);
	assert_int_equal(back->samples[0].weight, 5);
	assert_string_equal(back->meta.event, "samples");
	pprof__profile__free_unpacked(p, NULL);
	free(packed);
	free(bytes);
	named_profile_free(np);
	named_profile_free(back);
}

static void no_sample_is_a_profile(void **state)
{
	struct named_profile *np = named_builder_take(named_builder_new());
	struct named_profile *back = there_and_back(np);

	(void)state;
	assert_int_equal(back->n_samples, 0);
	named_profile_free(np);
	named_profile_free(back);
}

static void full_disk_is_an_error(void **state)
{
	struct named_profile *np = make_full();
	const struct writer_options o = {0};
	FILE *f = fopen("/dev/full", "w");
	struct err err = {0};

	(void)state;
	assert_int_equal(writer_pprof.write(np, &o, f, &err), -ENOSPC);
	assert_int_equal(writer_speedscope.write(np, &o, f, &err), -ENOSPC);
	fclose(f);
	named_profile_free(np);
}

static void formats_by_ending(void **state)
{
	(void)state;
	assert_ptr_equal(writer_for_path("x.pb.gz"), &writer_pprof);
	assert_ptr_equal(writer_for_path("x.pprof"), &writer_pprof);
	assert_ptr_equal(writer_for_path("x.speedscope.json"), &writer_speedscope);
	assert_ptr_equal(writer_for_path("x.json"), &writer_speedscope);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_text_comes_back), cmocka_unit_test(nothing_is_lost),
		cmocka_unit_test(meta_comes_back),        cmocka_unit_test(ids_are_consecutive),
		cmocka_unit_test(counts_need_one_value),  cmocka_unit_test(no_sample_is_a_profile),
		cmocka_unit_test(full_disk_is_an_error),  cmocka_unit_test(formats_by_ending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
