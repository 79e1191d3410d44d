/*
 * Processes that use CPU time and start others.
 *
 * children burn SECONDS        uses that much CPU time
 * children each N SECONDS      starts N such, one after the other
 * children all N SECONDS       starts N such, which begin when all are there
 * children daemon SECONDS      leaves one behind that nothing is the parent of, and ends
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void burn(double seconds)
{
	while (used() < seconds)
		for (int i = 0; i < 10000; i++)
			sink += (unsigned long)i;
}

static int gate[2] = {-1, -1}; /* closed when all are there */

static void start(double seconds)
{
	char none;

	if (fork() == 0) {
		close(gate[1]);
		(void)!read(gate[0], &none, 1);
		burn(seconds);
		_exit(0);
	}
}

static void leave_behind(double seconds)
{
	if (fork() == 0) {
		setsid();
		start(seconds);
		_exit(0);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	int n = argc > 3 ? atoi(argv[2]) : 1;
	double seconds = atof(argv[argc - 1]);

	if (!strcmp(what, "burn"))
		burn(seconds);
	for (int i = 0; i < n && !strcmp(what, "each"); i++) {
		start(seconds);
		wait(NULL);
	}
	if (!strcmp(what, "all") && pipe(gate) < 0)
		return 1;
	for (int i = 0; i < n && !strcmp(what, "all"); i++)
		start(seconds);
	close(gate[1]);
	if (!strcmp(what, "daemon"))
		leave_behind(seconds);
	while (wait(NULL) > 0)
		;
	return 0;
}
