#ifndef JS_BASE_BUDGET_H
#define JS_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a target may cost: bytes held of what it made (its files, copies of its memory, what the bridge in it told), and
 * CPU time spent on its files (not time by the clock: what is named must not depend on what else a machine has to do).
 * All that is untrusted, so whoever reads it takes bytes before it allocates, and asks in its loops whether time is up.
 * Work is clocked between budget_begin() and budget_end() of one thread, which nest; outside of them time stands still.
 * One thread at a time works with a budget; bytes may be taken and given by any, and budget_cancel() may come from any, and
 * from a signal handler.
 * NULL stands for a budget without limits everywhere.
 */
enum { BUDGET_NOTES = 8, BUDGET_NOTE_SIZE = 240 };

struct budget {
	_Atomic uint64_t bytes_left;
	uint64_t ns_left; /* as of the last budget_end() */
	uint64_t started_ns; /* CPU time of the thread at the outermost begin */
	unsigned depth;
	unsigned polls;
	bool expired; /* time is up: for good */
	_Atomic bool cancelled; /* whoever waits for the result wants no more work: for good */
	uint64_t refused; /* how many things were given up; `note` describes the first few */
	uint64_t refused_bytes; /* what they would have taken, where that is known */
	unsigned n_notes;
	char note[BUDGET_NOTES][BUDGET_NOTE_SIZE];
};

void budget_init(struct budget *b, uint64_t bytes, uint64_t ns);

void budget_begin(struct budget *b);
void budget_end(struct budget *b);

/* false: there is not that much left, nothing was taken. */
bool budget_take(struct budget *b, uint64_t bytes);
void budget_give(struct budget *b, uint64_t bytes); /* back: what was taken is freed */
/*
 * For what grows and shrinks by little: `*taken` becomes `bytes`, rounded up by up to BUDGET_STEP. false: there is not that
 * much left, nothing changed.
 */
enum { BUDGET_STEP = 256 << 10 };
bool budget_hold(struct budget *b, uint64_t *taken, uint64_t bytes);
uint64_t budget_bytes_left(const struct budget *b);

/* Cancelled, or time is up. Reads the clock. */
bool budget_expired(struct budget *b);
/* The same for tight loops: reads the clock once in 1,024 calls. */
bool budget_poll(struct budget *b);
/* UINT64_MAX: no limit. */
uint64_t budget_ns_left(struct budget *b);
/* CPU time that another process spent on our behalf. */
void budget_spend(struct budget *b, uint64_t ns);

/* In a child process, whose clock starts anew: `b` is a copy, of which `ns` are left, and nothing was noted. */
void budget_restart(struct budget *b, uint64_t ns);

void budget_cancel(struct budget *b); /* async-signal-safe */
bool budget_cancelled(const struct budget *b);

/*
 * Counts something that was given up, of `bytes` (0: not known), and keeps a sentence about it for the
 * summary: what, which file, how much. Equal sentences are kept once. Nothing is noted when cancelled.
 */
void budget_refuse(struct budget *b, uint64_t bytes, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
