#ifndef JS_CLI_OVERDUE_H
#define JS_CLI_OVERDUE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Detects that sampling does not end when it should, because one of this program's threads waits for a target:
 * reading the memory of a process in execve(2) waits for it, and an unresponsive file system may hold it there
 * (exec_update_lock in linux/fs/exec.c). Only ending the program ends such a wait. Zero-initialise.
 */
struct overdue {
	uint64_t end_ns; /* CLOCK_MONOTONIC, when sampling should end; 0: not yet known */
	uint64_t since_ns, cpu_ns; /* when the watch began, and this program's CPU time then */
};

void overdue_expect(struct overdue *s, uint64_t end_ns); /* the earliest is used */
/* How long to wait until the next look, or `otherwise` (as for poll(2)) if that is sooner. */
int overdue_pause_ms(const struct overdue *s, int otherwise);
/* true: the end is overdue by seconds in which this program has hardly used the CPU. */
bool overdue_check(struct overdue *s, uint64_t now_ns, uint64_t cpu_ns);

#endif
