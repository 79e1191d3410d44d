#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
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

/* --- a loader at work --- */

/* Found by this name in the file, as in a libjvm.so. */
extern uint64_t gHotSpotVMStructs;
uint64_t gHotSpotVMStructs = 1;

enum { ROOM = 64 << 20 };

/* Where there is room for the whole; the rest has nothing that could be read. */
static int map_code(struct dl_phdr_info *info, size_t size, void *fd)
{
	uint8_t *room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)size;
	if (room == MAP_FAILED || munmap(room, ROOM) < 0)
		return -1;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X))
			return mmap(room + (p->p_vaddr & ~UINT64_C(4095)), p->p_filesz, PROT_READ | PROT_EXEC,
				    MAP_PRIVATE | MAP_FIXED, *(int *)fd, (off_t)p->p_offset & ~4095) != MAP_FAILED;
	}
	return -1;
}

/* A child that has mapped the code of its libjvm.so, this program, but not yet the data. */
static pid_t start_loading(char *dir)
{
	char name[80], command[160];
	int ready[2], fd;
	pid_t pid;
	char c;

	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/libjvm.so", dir);
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", (int)getpid(), name);
	assert_int_equal(system(command), 0);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (dl_iterate_phdr(map_code, &fd) > 0)
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

static void look_while_loading(pid_t pid, bool was_absent, enum jvm_state wanted)
{
	struct readers *v = NULL;
	struct proc *p = NULL;

	assert_int_equal(proc_open(pid, &p, NULL), 0);
	assert_int_equal(readers_open(p, (struct unwinder_options){0}, NULL, NULL, &v, NULL), 0);
	v->was_absent = was_absent;
	assert_false(readers_find_jvm(v));
	assert_string_equal(v->why, "cannot read this JVM: gHotSpotVMStructs is unreadable");
	assert_int_equal(v->jvm, wanted);
	for (int i = 0; i < 20; i++)
		assert_false(readers_find_jvm(v));
	assert_int_equal(v->jvm, JVM_UNSUPPORTED);
	readers_close(v);
	proc_close(p);
}

static void test_loading(void **state)
{
	char dir[] = "/tmp/jsampler-readers-XXXXXX", name[80];
	pid_t pid = start_loading(dir);

	(void)state;
	look_while_loading(pid, false, JVM_UNSUPPORTED);
	look_while_loading(pid, true, JVM_STARTING); /* it is asked again */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	snprintf(name, sizeof(name), "%s/libjvm.so", dir);
	unlink(name);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_loading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
