#ifndef JS_BASE_BUDGET_H
#define JS_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Limits on what a target may cost: memory for data that it produced (its files, copies of its memory, messages of the
 * bridge in it), and CPU time spent on its files (not wall time: the names found must not depend on the load of the
 * machine). The data is untrusted, so a reader takes bytes before it allocates, and its loops check whether time is up.
 * Only time between budget_begin() and budget_end() of one thread counts; the calls nest.
 * One thread at a time uses a budget, but any thread may take and give bytes, and budget_cancel() may be called from
 * any thread or signal handler.
 * NULL is accepted everywhere and means no limits.
 */
enum { BUDGET_NOTES = 8, BUDGET_NOTE_SIZE = 240, BUDGET_CHECKED = 512 << 20 };

/*
 * A limit on the bytes of several budgets together. A quarter is divided into equal shares, one reserved for each
 * budget; the rest goes to whoever takes it first. The only budget of a pool may take everything.
 */
struct budget_pool {
	_Atomic uint64_t bytes_left; /* not counting the shares */
	uint64_t share, most; /* of one budget: reserved for it; the most that it can take */
};

struct budget {
	_Atomic uint64_t bytes_left;
	struct budget_pool *pool; /* borrowed; NULL: none */
	uint64_t pool_below; /* if bytes_left is below this, the difference was taken from the pool */
	uint64_t checked_left; /* bytes that may yet be read for their checksum, BUDGET_CHECKED at first */
	uint64_t ns_left; /* as of the last budget_end() */
	uint64_t started_ns; /* CPU time of the thread at the outermost budget_begin() */
	unsigned depth;
	unsigned polls;
	bool expired; /* time is up, until budget_grant() */
	_Atomic bool cancelled; /* nobody waits for the result any more; permanent */
	_Atomic bool hurried; /* the same for the current piece of work, until budget_hurry(b, false) */
	uint64_t refused; /* number of things given up; `note` describes the first few */
	uint64_t refused_bytes; /* their total size, as far as known */
	unsigned n_notes;
	char note[BUDGET_NOTES][BUDGET_NOTE_SIZE];
};

void budget_init(struct budget *b, uint64_t bytes, uint64_t ns);
void budget_pool_init(struct budget_pool *p, uint64_t bytes, size_t budgets /* 1 or more */);
void budget_join(struct budget *b, struct budget_pool *p); /* before any take; the pool then limits the bytes */

/*
 * For something that several users share and that exists as long as one of them uses it: reserves `bytes` of the pool
 * for it; what it takes beyond these comes from the rest. false: the pool does not have that much left. budget_leave()
 * returns the reserved bytes, once everything taken was given back.
 */
bool budget_join_reserved(struct budget *b, struct budget_pool *p, uint64_t bytes);
void budget_leave(struct budget *b);

void budget_begin(struct budget *b);
void budget_end(struct budget *b);

/* false: not that much is left, and nothing was taken. */
bool budget_take(struct budget *b, uint64_t bytes);
void budget_give(struct budget *b, uint64_t bytes); /* returns bytes taken before */
/*
 * For memory that grows and shrinks in small steps: sets `*taken` to `bytes`, rounded up to BUDGET_STEP. false: not
 * that much is left, and nothing changed.
 */
enum { BUDGET_STEP = 256 << 10 };
bool budget_hold(struct budget *b, uint64_t *taken, uint64_t bytes);
uint64_t budget_bytes_left(const struct budget *b);

/*
 * To be called before so many bytes are read for a checksum. A sparse file can make that take long without using
 * memory. false: it would be too much in total.
 */
bool budget_check(struct budget *b, uint64_t bytes);

/* Cancelled, or time is up. Reads the clock. */
bool budget_expired(struct budget *b);
/* The same for tight loops: reads the clock only once in 1,024 calls. */
bool budget_poll(struct budget *b);
/* UINT64_MAX: no limit. */
uint64_t budget_ns_left(struct budget *b);
/* Charges CPU time that another process spent on our behalf. */
void budget_spend(struct budget *b, uint64_t ns);
/* For a target that is sampled for days: adds so much time, up to `most` in all. Not between begin and end. */
void budget_grant(struct budget *b, uint64_t ns, uint64_t most);

/*
 * For a child process, whose CPU clock starts at 0: turns the copied budget into one with `ns` left and without notes.
 */
void budget_restart(struct budget *b, uint64_t ns);

void budget_cancel(struct budget *b); /* async-signal-safe, and so is budget_hurry() */
void budget_hurry(struct budget *b, bool on);
bool budget_cancelled(const struct budget *b);

/*
 * Counts something that was given up (`bytes` 0: size unknown), and keeps a sentence about it for the summary: what, of
 * which file, how much. Equal sentences are kept once. Nothing is noted after a cancellation.
 */
void budget_refuse(struct budget *b, uint64_t bytes, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
