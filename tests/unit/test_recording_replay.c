#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "sampler/recording/recording.h"
#include "sampler/recording/recording_writer.h"
#include "sampler/session/session.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

/*
 * Every recording in tests/fixtures gives the stacks of the .folded beside it (scripts/record-fixture
 * makes both), on any machine: no JVM, no privileges. Some are written down again while they are
 * replayed, and the copy gives them once more.
 */
struct fixture {
	char path[512];
};

static void run(const struct recording *rec, struct recording_writer *w, FILE *folded, FILE *again)
{
	const struct session_options o = {
		.replay = rec,
		.snapshot = w,
		.profile = {.threads = true},
		.engine_options.kernel = true,
		.show = {.lines = true, .thread_root = true},
	};
	const struct writer_options wo = {.annotate = true, .lines = true};
	struct named_profile *np;
	struct session *s;

	assert_int_equal(session_open(0, &o, &s, NULL), 0);
	assert_int_equal(session_start(s, NULL), 0);
	assert_int_equal(session_run(s, 0, NULL), 0);
	assert_int_equal(session_result(s, &np, NULL), 0);
	assert_int_equal(writer_folded.write(np, &wo, folded, NULL), 0);
	assert_int_equal(fflush(folded), 0);
	if (again)
		assert_int_equal(session_write_snapshot(s, again, NULL), 0);
	named_profile_free(np);
	session_close(s);
}

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);

	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	return text;
}

static struct recording *open_or_fail(const char *path)
{
	struct recording *rec;
	struct err err = {0};

	if (recording_open(path, &rec, &err) < 0)
		fail_msg("%s", err.msg);
	return rec;
}

static void check(const char *path, const char *golden, FILE *again)
{
	struct recording_writer *w = again ? recording_writer_new() : NULL;
	struct recording *rec = open_or_fail(path);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	run(rec, w, out, again);
	fclose(out);
	if (strcmp(text, golden) != 0) {
		print_error("%s gives other stacks:\n%s\nnot:\n%s\n", path, text, golden);
		fail();
	}
	free(text);
	recording_close(rec);
	recording_writer_free(w);
}

static void fixture_replays(void **state)
{
	const struct fixture *f = *state;
	char path[sizeof(f->path) + 8];
	char *golden;

	snprintf(path, sizeof(path), "%.*s.folded", (int)(strrchr(f->path, '.') - f->path), f->path);
	golden = read_all(path);
	check(f->path, golden, NULL);
	free(golden);
}

static void copy_replays(void **state)
{
	const struct fixture *f = *state;
	char copy[] = "/tmp/jsampler-test-XXXXXX", path[sizeof(f->path) + 8];
	FILE *again = fdopen(mkstemp(copy), "wb");
	char *golden;

	snprintf(path, sizeof(path), "%.*s.folded", (int)(strrchr(f->path, '.') - f->path), f->path);
	golden = read_all(path);
	assert_non_null(again);
	check(f->path, golden, again);
	fclose(again);
	check(copy, golden, NULL);
	remove(copy);
	free(golden);
}

static int is_recording(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 6 && strcmp(e->d_name + n - 6, ".jsrec") == 0;
}

enum { COPY_EVERY = 7 };

int main(void)
{
	struct dirent **list;
	int n = scandir(FIXTURES, &list, is_recording, alphasort), failed;
	struct CMUnitTest *tests = calloc((size_t)(n > 0 ? n : 1), sizeof(*tests));
	struct fixture *fixtures = calloc((size_t)(n > 0 ? n : 1), sizeof(*fixtures));

	if (n <= 0 || !tests || !fixtures) {
		fprintf(stderr, "no recordings in %s\n", FIXTURES);
		return 1;
	}
	log_set_level(LOG_LEVEL_QUIET);
	for (int i = 0; i < n; i++) {
		snprintf(fixtures[i].path, sizeof(fixtures[i].path), "%s/%s", FIXTURES, list[i]->d_name);
		tests[i] = (struct CMUnitTest){list[i]->d_name, i % COPY_EVERY ? fixture_replays : copy_replays, NULL,
					       NULL, &fixtures[i]};
	}
	failed = _cmocka_run_group_tests("fixtures", tests, (size_t)n, NULL, NULL);
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	free(tests);
	free(fixtures);
	return failed;
}
