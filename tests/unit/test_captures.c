#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "sampler/daemon/captures/captures.h"
#include "symbolizer/base/clock.h"
#include "tests/support/store_fill.h"

/* The first process: it answers at once. */
struct first {
	struct captures *c;
	uint64_t last;
	bool refuses;
	int refusal; /* what it answers with; 0: the capture has begun */
	struct capture_request asked;
};

static char dir[64];

static int answer_later(void *ctx, uint64_t id, const struct capture_request *r)
{
	struct first *f = ctx;

	f->last = id;
	f->asked = *r;
	return f->refuses ? -EPIPE : 0;
}

static void *answer(void *ctx)
{
	struct first *f = ctx;

	usleep(20000);
	if (f->refusal)
		captures_refused(f->c, f->last, f->refusal, "refused");
	else
		captures_began(f->c, f->last);
	return NULL;
}

static const struct capture_request one = {.pid = 7, .hz = 999, .seconds = 30, .by = 1000};

static int ask(struct first *f, const struct capture_request *r, uint64_t *ret_id)
{
	pthread_t t;
	int e;

	assert_int_equal(pthread_create(&t, NULL, answer, f), 0);
	e = captures_start(f->c, r, ret_id, NULL);
	pthread_join(t, NULL);
	return e;
}

static uint64_t begin(struct first *f, const struct capture_request *r)
{
	uint64_t id = 0;

	assert_int_equal(ask(f, r, &id), 0);
	assert_int_equal(id, f->last);
	return id;
}

static int piece(struct first *f, uint64_t id, uint64_t count, size_t bytes)
{
	struct named_profile *np = store_test_profile(1795814738, 1, count);
	int r;

	np->meta.duration_ns = 10 * SECOND;
	r = captures_piece(f->c, id, np, bytes);
	named_profile_free(np);
	return r;
}

static uint64_t samples(struct first *f, uint64_t id, uint64_t *ret_duration_ns)
{
	struct named_profile *np = NULL;
	uint64_t n = 0;

	assert_int_equal(captures_read(f->c, id, &np, NULL), 0);
	for (uint32_t i = 0; i < np->n_samples; i++)
		n += np->samples[i].count;
	*ret_duration_ns = np->meta.duration_ns;
	named_profile_free(np);
	return n;
}

static int set_up(void **state)
{
	struct first *f = calloc(1, sizeof(*f));

	store_test_dir(dir);
	log_set_level(LOG_LEVEL_QUIET);
	f->c = captures_new(dir, answer_later, f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct first *f = *state;

	captures_free(f->c);
	free(f);
	store_test_remove(dir);
	return 0;
}

static struct capture only(struct first *f)
{
	struct capture *all = NULL, c;
	size_t n = 0;

	assert_int_equal(captures_list(f->c, &all, &n), 0);
	assert_int_equal(n, 1);
	c = all[0];
	free(all);
	return c;
}

static void pieces_are_one_profile(void **state)
{
	struct first *f = *state;
	uint64_t id = begin(f, &one), duration = 0;
	struct named_profile *np;
	struct capture c;

	assert_int_equal(f->asked.by, 1000);
	assert_int_equal(captures_read(f->c, id, &np, NULL), -EAGAIN);
	assert_int_equal(piece(f, id, 3, 100), 0);
	assert_int_equal(piece(f, id, 4, 100), 0);
	assert_int_equal(only(f).state, CAPTURE_RUNNING);
	captures_ended(f->c, id);
	c = only(f);
	assert_true(c.state == CAPTURE_DONE && c.bytes > 0 && c.request.pid == 7 && c.request.hz == 999 &&
		    c.request.by == 1000);
	assert_int_equal(samples(f, id, &duration), 7);
	assert_int_equal(duration, 20 * SECOND);
	assert_int_equal(piece(f, id, 1, 1), -ENOENT);
}

static void what_fails_is_said(void **state)
{
	struct first *f = *state;
	uint64_t id = begin(f, &one);
	struct named_profile *np;
	struct err e = {0};

	captures_ended(f->c, id);
	assert_int_equal(only(f).state, CAPTURE_FAILED);
	assert_int_equal(captures_read(f->c, id, &np, &e), -ENODATA);
	assert_non_null(strstr(e.msg, "no CPU time"));
	f->refuses = true;
	assert_int_equal(captures_start(f->c, &one, &id, &e), -ENODATA);
	assert_non_null(strstr(e.msg, "cannot be asked"));
	assert_int_equal(captures_read(f->c, 1, &np, &e), -ENOENT);
}

/* The code shows the client whether it is worth trying again later. */
static void refusals_have_their_codes(void **state)
{
	static const struct {
		int refusal, code;
	} cases[] = {{-EALREADY, -EALREADY}, {-EBUSY, -EBUSY}, {-ESRCH, -ENODATA}, {-EPERM, -ENODATA}, {1, -ENODATA}};
	struct first *f = *state;
	uint64_t id;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f->refusal = cases[i].refusal;
		assert_int_equal(ask(f, &one, &id), cases[i].code);
	}
}

static void limits(void **state)
{
	static const struct capture_request wrong[] = {
		{.pid = 0, .hz = 99, .seconds = 1}, {.pid = -1, .hz = 99, .seconds = 1},
		{.pid = 7, .hz = 0, .seconds = 1},  {.pid = 7, .hz = 1001, .seconds = 1},
		{.pid = 7, .hz = 99, .seconds = 0}, {.pid = 7, .hz = 99, .seconds = 601},
	};
	struct first *f = *state;
	uint64_t id = 0, ids[CAPTURES_AT_ONCE], duration;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(captures_start(f->c, &wrong[i], &id, NULL), -EINVAL);
	for (int i = 0; i < CAPTURES_AT_ONCE; i++)
		ids[i] = begin(f, &one);
	assert_int_equal(captures_start(f->c, &one, &id, NULL), -EBUSY);
	assert_int_equal(piece(f, ids[0], 3, CAPTURE_BYTES), 0);
	assert_int_equal(piece(f, ids[0], 3, 1), -EFBIG);
	captures_ended(f->c, ids[0]);
	assert_int_equal(samples(f, ids[0], &duration), 3);
	captures_ended(f->c, ids[1]);
	begin(f, &one);
}

/* Nothing of it is in another one. */
static struct named_profile *unlike_others(uint32_t number)
{
	enum { FUNCTIONS = 50000 };
	struct named_builder *b = named_builder_new();
	char name[32];

	assert_non_null(b);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct named_line line = {.line = 1};
		struct named_sample s = {.count = 1};
		uint32_t location;

		snprintf(name, sizeof(name), "f%u.%u", number, i);
		line.function = named_builder_function(b, name, name, "");
		location = named_builder_location(b, 0, 0, &line, 1);
		s.stack = named_builder_stack(b, &location, 1);
		named_builder_sample(b, &s);
	}
	return named_builder_take(b);
}

/* A program can be such that small pieces make a large sum: several of these must not fill the daemon's memory. */
static void memory_is_limited(void **state)
{
	struct first *f = *state;
	uint64_t id = begin(f, &one);
	uint32_t n = 0;
	int r = 0;

	while (r == 0 && n < 40) {
		struct named_profile *np = unlike_others(n++);

		assert_non_null(np);
		r = captures_piece(f->c, id, np, 100);
		named_profile_free(np);
	}
	assert_int_equal(r, -EFBIG);
	captures_ended(f->c, id);
	assert_int_equal(only(f).state, CAPTURE_DONE);
}

static void *ask_slowly(void *ctx)
{
	struct first *f = ctx;
	uint64_t id = 0;

	assert_int_equal(captures_start(f->c, &one, &id, NULL), -ENODATA); /* after two seconds */
	return NULL;
}

/* One that is not answered must not take all threads that answer. */
static void one_at_a_time_waits(void **state)
{
	struct first *f = *state;
	struct err e = {0};
	uint64_t id = 0, begin_ns;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, ask_slowly, f), 0);
	usleep(200000);
	begin_ns = clock_monotonic_ns();
	assert_int_equal(captures_start(f->c, &one, &id, &e), -EBUSY);
	assert_true(clock_monotonic_ns() - begin_ns < SECOND);
	assert_non_null(strstr(e.msg, "try again"));
	pthread_join(t, NULL);
	begin(f, &one);
}

static bool make(const char *name, size_t bytes)
{
	int d = open(dir, O_RDONLY | O_DIRECTORY), fd = openat(d, name, O_WRONLY | O_CREAT, 0600);
	bool made = fd >= 0 && ftruncate(fd, (off_t)bytes) == 0;

	close(fd);
	close(d);
	return made;
}

static bool is_there(const char *name)
{
	char path[200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return stat(path, &st) == 0;
}

/* What is not named like a capture is left alone. */
static void the_oldest_files_go(void **state)
{
	static const char *const others[] = {"capture-1-2-3-4.pb.gz",     "capture-01-7-99-1-0.pb.gz",
					     "capture-1-7-99-1-0.pb.gzx", "capture-1-7-99-1-0.txt",
					     "capture--7-99-1-0.pb.gz",   "lock"};
	struct first *f = *state;
	char name[64];
	struct capture *all = NULL;
	size_t n = 0;
	uint64_t id;

	for (int i = 1; i <= CAPTURES_KEPT; i++) {
		snprintf(name, sizeof(name), "capture-%d-7-99-1-0.pb.gz", i);
		assert_true(make(name, 10));
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_true(make(others[i], 10));
	id = begin(f, &one);
	assert_int_equal(piece(f, id, 3, 100), 0);
	captures_ended(f->c, id);
	assert_false(is_there("capture-1-7-99-1-0.pb.gz"));
	assert_true(is_there("capture-2-7-99-1-0.pb.gz"));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_true(is_there(others[i]));
	assert_int_equal(captures_list(f->c, &all, &n), 0);
	assert_true(n == CAPTURES_KEPT && all[0].id == id && all[n - 1].id == 2);
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pieces_are_one_profile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_fails_is_said, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refusals_have_their_codes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(limits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_is_limited, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_at_a_time_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_oldest_files_go, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
