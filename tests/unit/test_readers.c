#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/readers/readers.h"
#include "symbolizer/target/proc.h"

/* A child that has mapped a file called libjvm.so, which is deleted: it can be opened only through the child. */
static pid_t start_mapper(void)
{
	char dir[] = "/tmp/jsampler-readers-XXXXXX", name[64] = "";
	int ready[2], fd;
	pid_t pid;
	char c;

	assert_non_null(mkdtemp(dir));
	strcat(strcpy(name, dir), "/libjvm.so");
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED)
			(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	unlink(name);
	rmdir(dir);
	close(fd);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* Of a target that has ended nothing can be opened: that is no fault of its libjvm.so. */
static void test_ended(void **state)
{
	pid_t pid = start_mapper();
	struct readers *v = NULL;
	struct proc *p = NULL;

	(void)state;
	assert_int_equal(proc_open(pid, &p, NULL), 0);
	assert_int_equal(readers_open(p, (struct unwinder_options){0}, NULL, NULL, &v, NULL), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(readers_find_jvm(v));
	assert_int_equal(v->jvm, JVM_ABSENT);
	assert_string_equal(v->why, "");
	readers_close(v);
	proc_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
