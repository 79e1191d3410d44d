/*
 * odd_target MODE [ARGUMENT]: a process that is out of the ordinary, burns CPU and prints "ready".
 *
 *	nodump		is not dumpable (prctl(2), PR_SET_DUMPABLE)
 *	threads N	has N threads that sleep and two that run
 *	file PATH	runs code in a page of that file, which it writes
 *	exec PROGRAM	calls execve on each line of its stdin
 *	late-dlopen LIB	loads a library and runs its `spin` on a line of its stdin
 *	remap		maps and unmaps without end
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile unsigned long odd_sum;

static void ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

__attribute__((noinline)) static void odd_spin(void)
{
	for (;;)
		odd_sum++;
}

static void *spin_thread(void *arg)
{
	(void)arg;
	odd_spin();
	return NULL;
}

static void *sleep_thread(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static int threads(int n)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t, &attr, sleep_thread, NULL))
			return perror("pthread_create"), 1;
	pthread_create(&t, &attr, spin_thread, NULL);
	ready();
	odd_spin();
	return 0;
}

/* `pause; jmp .-2` */
static const unsigned char loop[] = {0xf3, 0x90, 0xeb, 0xfc};

static int file(const char *path)
{
	unsigned char page[4096] = {0};
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
	void (*code)(void);
	void *p;

	memcpy(page + 64, loop, sizeof(loop));
	if (fd < 0 || write(fd, page, sizeof(page)) != sizeof(page))
		return perror(path), 1;
	p = mmap(NULL, sizeof(page), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return perror("mmap"), 1;
	close(fd);
	p = (char *)p + 64;
	memcpy(&code, &p, sizeof(code));
	ready();
	code();
	return 0;
}

static void wait_for_line(void)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		;
}

static bool told; /* by the reader thread */

static void *tell_thread(void *arg)
{
	wait_for_line();
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELAXED);
	return NULL;
}

__attribute__((noinline)) static void odd_spin_until_told(void)
{
	pthread_t t;

	pthread_create(&t, NULL, tell_thread, &told);
	ready();
	while (!__atomic_load_n(&told, __ATOMIC_RELAXED))
		odd_sum++;
}

static int exec_program(char **argv)
{
	odd_spin_until_told();
	execvp(argv[0], argv);
	return perror(argv[0]), 1;
}

static int late_dlopen(const char *path)
{
	void *lib, *sym;
	void (*spin)(void);

	odd_spin_until_told();
	lib = dlopen(path, RTLD_NOW);
	sym = lib ? dlsym(lib, "late_spin") : NULL;
	if (!sym)
		return fprintf(stderr, "%s\n", dlerror()), 1;
	memcpy(&spin, &sym, sizeof(spin));
	spin();
	return 0;
}

__attribute__((noreturn)) static void remap(void)
{
	ready();
	for (;;) {
		void *p = mmap(NULL, 1 << 16, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		mprotect(p, 4096, PROT_READ);
		munmap(p, 1 << 16);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!strcmp(mode, "nodump")) {
		prctl(PR_SET_DUMPABLE, 0);
		ready();
		odd_spin();
	}
	if (!strcmp(mode, "remap"))
		remap();
	if (argc < 3)
		return fprintf(stderr, "usage: odd_target MODE ARGUMENT\n"), 2;
	if (!strcmp(mode, "threads"))
		return threads(atoi(argv[2]));
	if (!strcmp(mode, "file"))
		return file(argv[2]);
	if (!strcmp(mode, "exec"))
		return exec_program(argv + 2);
	if (!strcmp(mode, "late-dlopen"))
		return late_dlopen(argv[2]);
	return fprintf(stderr, "odd_target: what is '%s'?\n", mode), 2;
}
