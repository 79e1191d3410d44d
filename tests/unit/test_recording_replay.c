#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"
#include "sampler/recording/recording.h"
#include "sampler/recording/writer.h"
#include "sampler/session/session.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

/*
 * Every recording in tests/fixtures gives the stacks of the .folded beside it (scripts/record-fixture
 * makes both), on any machine: no JVM, no privileges. Written down again while it is replayed, it
 * gives them once more.
 */
static void run(const struct recording *rec, struct recording_writer *w, FILE *folded, FILE *again)
{
	const struct session_options o = {
		.replay = rec,
		.snapshot = w,
		.profile = {.threads = true},
		.kernel = true,
		.lines = true,
		.thread_root = true,
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
	const char *path = *state;
	char golden_path[512], again_path[] = "/tmp/jsampler-test-XXXXXX";
	int fd = mkstemp(again_path);
	FILE *again = fdopen(fd, "wb");
	char *golden;

	snprintf(golden_path, sizeof(golden_path), "%.*s.folded", (int)(strrchr(path, '.') - path), path);
	golden = read_all(golden_path);
	check(path, golden, again);
	fclose(again);
	check(again_path, golden, NULL);
	remove(again_path);
	free(golden);
}

static int is_recording(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 6 && strcmp(e->d_name + n - 6, ".jsrec") == 0;
}

int main(void)
{
	struct dirent **list;
	int n = scandir(FIXTURES, &list, is_recording, alphasort);
	struct CMUnitTest *tests = calloc((size_t)(n > 0 ? n : 1), sizeof(*tests));
	int failed;

	if (n <= 0 || !tests) {
		fprintf(stderr, "no recordings in %s\n", FIXTURES);
		return 1;
	}
	log_set_level(LOG_LEVEL_QUIET);
	for (int i = 0; i < n; i++) {
		char *path = malloc(512);

		snprintf(path, 512, "%s/%s", FIXTURES, list[i]->d_name);
		tests[i] = (struct CMUnitTest){list[i]->d_name, fixture_replays, NULL, NULL, path};
	}
	failed = _cmocka_run_group_tests("fixtures", tests, (size_t)n, NULL, NULL);
	for (int i = 0; i < n; i++) {
		free(tests[i].initial_state);
		free(list[i]);
	}
	free(tests);
	free(list);
	return failed;
}
