#ifndef JS_BASE_BUDGET_H
#define JS_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a target may cost: bytes held that it produced (its files, copies of its memory, what the bridge in it sent), and
 * CPU time spent on its files (not wall time: which names are found must not depend on the load of the machine).
 * All of that is untrusted, so a reader takes bytes before it allocates, and checks in its loops whether time is up.
 * Only time between budget_begin() and budget_end() of one thread counts; these nest.
 * One thread at a time works with a budget; bytes may be taken and given by any thread, and budget_cancel() called from any
 * thread or a signal handler.
 * Everywhere, NULL is a budget without limits.
 */
enum { BUDGET_NOTES = 8, BUDGET_NOTE_SIZE = 240 };

/*
 * What the bytes of several budgets may be in all. A quarter is divided into shares, one for each of them, which the others
 * cannot take; the rest is for whoever takes it first. One budget alone may take everything.
 */
struct budget_pool {
	_Atomic uint64_t bytes_left; /* besides the shares */
	uint64_t share, most; /* of one budget */
};

struct budget {
	_Atomic uint64_t bytes_left;
	struct budget_pool *pool; /* borrowed; NULL: none */
	uint64_t pool_below; /* what is missing from this many bytes_left was taken from the pool */
	uint64_t ns_left; /* as of the last budget_end() */
	uint64_t started_ns; /* CPU time of the thread at the outermost begin */
	unsigned depth;
	unsigned polls;
	bool expired; /* time is up, permanently */
	_Atomic bool cancelled; /* nobody waits for the result any more; permanent */
	_Atomic bool hurried; /* the same for the work under way, until budget_hurry() takes it back */
	uint64_t refused; /* number of things given up; `note` describes the first few */
	uint64_t refused_bytes; /* what they would have taken, as far as known */
	unsigned n_notes;
	char note[BUDGET_NOTES][BUDGET_NOTE_SIZE];
};

void budget_init(struct budget *b, uint64_t bytes, uint64_t ns);
void budget_pool_init(struct budget_pool *p, uint64_t bytes, size_t budgets /* 1 or more */);
void budget_join(struct budget *b, struct budget_pool *p); /* before anything is taken: its bytes are the pool's */

void budget_begin(struct budget *b);
void budget_end(struct budget *b);

/* false: not that much is left, and nothing was taken. */
bool budget_take(struct budget *b, uint64_t bytes);
void budget_give(struct budget *b, uint64_t bytes); /* returns what was taken */
/*
 * For what grows and shrinks in small steps: `*taken` becomes `bytes`, rounded up to BUDGET_STEP. false: not that much is
 * left, and nothing changed.
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

/* In a child process, whose CPU clock starts at 0: `b` is a copy with `ns` left and without notes. */
void budget_restart(struct budget *b, uint64_t ns);

void budget_cancel(struct budget *b); /* async-signal-safe, as the next */
void budget_hurry(struct budget *b, bool on);
bool budget_cancelled(const struct budget *b);

/*
 * Counts something that was given up (`bytes` 0: size unknown), and keeps a sentence about it for the
 * summary: what, which file, how much. Equal sentences are kept once. Nothing is noted after a cancellation.
 */
void budget_refuse(struct budget *b, uint64_t bytes, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
