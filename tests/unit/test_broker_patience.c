#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sampler/broker/patience.h"
#include "symbolizer/base/clock.h"

enum { MS = 1000000 };

/* What proc(5) says of a thread. */
static int in_state(char state)
{
	int fd = memfd_create("stat", MFD_CLOEXEC);

	assert_true(fd >= 0);
	dprintf(fd, "7 (a) S) %c 1 7 7 0 -1 4194368 0 0 0 0 1 2 3 4 20 0 1 0 100 0 0\n", state);
	return fd;
}

static void *answer_late(void *socket)
{
	usleep(400000);
	(void)!write(*(int *)socket, "", 1);
	return NULL;
}

/* With a patience of 0.1 s; an answer, if there is one, comes after 0.4 s. */
static bool is_answered(int stat, bool hurried, bool answers)
{
	const atomic_bool hurry = hurried;
	uint64_t start_ns = clock_monotonic_ns();
	pthread_t thread;
	int pair[2];
	bool ok;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	if (answers)
		assert_int_equal(pthread_create(&thread, NULL, answer_late, &pair[1]), 0);
	ok = patience_wait(pair[0], stat, 100, &hurry);
	assert_true(clock_monotonic_ns() - start_ns >= (uint64_t)100 * MS);
	if (answers)
		pthread_join(thread, NULL);
	close(pair[0]);
	close(pair[1]);
	if (stat >= 0)
		close(stat);
	return ok;
}

static void a_file_that_is_silent_is_given_up(void **state)
{
	(void)state;
	assert_false(is_answered(in_state('D'), false, false));
	assert_false(is_answered(in_state('S'), false, false));
	assert_false(is_answered(-1, false, false));
}

static void a_thread_without_a_cpu_is_waited_for(void **state)
{
	(void)state;
	assert_true(is_answered(in_state('R'), false, true));
}

static void but_not_when_the_end_is_wanted(void **state)
{
	(void)state;
	assert_false(is_answered(in_state('R'), true, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_is_silent_is_given_up),
		cmocka_unit_test(a_thread_without_a_cpu_is_waited_for),
		cmocka_unit_test(but_not_when_the_end_is_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
