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

enum { RESERVED = 1 << 20, PAGE = 4096 };

/* A child that has mapped the first page of a file; nothing is mapped where the rest would be. */
static pid_t start_mapper(int fd)
{
	void *room;
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		room = mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (room != MAP_FAILED &&
		    mmap(room, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED &&
		    munmap((char *)room + PAGE, RESERVED - PAGE) == 0)
			(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(fd);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* The file is called libjvm.so and deleted: it can be opened only through the child. */
static pid_t start_mapper_of_deleted(void)
{
	char dir[] = "/tmp/jsampler-readers-XXXXXX", name[64] = "";
	pid_t pid;
	int fd;

	assert_non_null(mkdtemp(dir));
	strcat(strcpy(name, dir), "/libjvm.so");
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, 4096), 0);
	pid = start_mapper(fd);
	unlink(name);
	rmdir(dir);
	return pid;
}

/* Of a target that has ended nothing can be opened: that is no fault of its libjvm.so. */
static void test_ended(void **state)
{
	pid_t pid = start_mapper_of_deleted();
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

/* Of a young process, a libjvm.so that cannot be read yet may be mapped in part. */
static void test_mapped_in_part(void **state)
{
	pid_t pid = start_mapper(open(PARTIAL_LIBJVM, O_RDONLY | O_CLOEXEC));
	struct proc *p = NULL;

	(void)state;
	assert_int_equal(proc_open(pid, &p, NULL), 0);
	for (int young = 0; young < 2; young++) {
		struct readers *v = NULL;

		assert_int_equal(readers_open(p, (struct unwinder_options){0}, NULL, NULL, &v, NULL), 0);
		v->young = young;
		for (int i = 0; i < 100; i++) /* it may get no CPU meanwhile */
			assert_false(readers_find_jvm(v));
		assert_int_equal(v->jvm, young ? JVM_STARTING : JVM_UNSUPPORTED);
		assert_non_null(strstr(v->why, "cannot read this JVM: gHotSpotVMStructs is unreadable"));
		readers_close(v);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	proc_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_mapped_in_part),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
