#ifndef JS_CLI_STUCK_H
#define JS_CLI_STUCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Sampling that was to end and does not, because one of this program's threads waits for a target: reading the memory
 * of a process in execve(2) waits for it, and a file system that never answers may hold it there (exec_update_lock in
 * linux/fs/exec.c). Only the end of the program ends such a wait. Zero-initialise.
 */
struct stuck {
	uint64_t end_ns; /* CLOCK_MONOTONIC, when sampling is to end; 0: not known yet */
	uint64_t since_ns, cpu_ns; /* when the watch began, and what this program had used then */
};

void stuck_expect(struct stuck *s, uint64_t end_ns); /* the earliest counts */
/* How long to wait before the next look; `otherwise`, poll(2)'s, where that is sooner. */
int stuck_pause_ms(const struct stuck *s, int otherwise);
/* True: the end is overdue by seconds in which this program has done next to nothing. */
bool stuck_look(struct stuck *s, uint64_t now_ns, uint64_t cpu_ns);

#endif
