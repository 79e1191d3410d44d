#ifndef JS_ENGINE_WAKE_MODE_H
#define JS_ENGINE_WAKE_MODE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Decides whether every sample wakes its reader, or only a ring that fills up. The rest of a stack deeper than its
 * copy has to be read before the thread continues; if no stack is that deep, waking at each sample is of no use.
 */
enum wake_mode {
	/* At each sample, until enough samples have shown whether stacks are deep; longer while the target starts, so
	 * that no stack with holes is missed (stack_rest_touch()). */
	WAKE_FIRST,
	WAKE_BATCH,
	/* At each sample, and the events count the threads' own CPU time. On a busy CPU the sampled thread makes room
	 * for its reader, and then for others: by the CPU's clock it would be found running more often than it runs
	 * (by 40 % at 499 Hz, measured). */
	WAKE_DEEP,
};

struct wake {
	enum wake_mode mode;
	uint32_t seen, cut; /* samples of this window; those whose stack was deeper than its copy */
	uint64_t since_ns, hole_ns; /* when the window began; when the last stack with a hole came */
	/* Set by the owner. settled: the target has run for a while; starting: it was started for this recording. */
	bool settled, starting;
};

/* Notes a sample; `cut`: its stack is deeper than its copy. Returns the mode to change to, or the present one. */
enum wake_mode wake_note(struct wake *w, bool cut, uint64_t now_ns);

/* Notes a sample whose stack has a hole. Call before its wake_note(). */
void wake_hole(struct wake *w, uint64_t now_ns);

/* Sets the mode: the present one, if the change was not possible. */
void wake_changed(struct wake *w, enum wake_mode mode, uint64_t now_ns);

#endif
