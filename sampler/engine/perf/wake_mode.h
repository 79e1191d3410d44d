#ifndef JS_ENGINE_WAKE_MODE_H
#define JS_ENGINE_WAKE_MODE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Decides whether every sample wakes its reader, or only rings that fill. The rest of a stack that is
 * deeper than its copy is worth something only if it is read before the thread goes on; where no stack
 * is that deep, waking for each sample is for nothing.
 */
enum wake_mode {
	/* Each sample, for some samples and some time: so that no deep stack is missed at the start, and no stack with holes
	 * (stack_rest_touch()) while the target is starting. */
	WAKE_FIRST,
	WAKE_BATCH,
	/* Each sample, and the events count the threads' own CPU time. On a busy CPU a thread that is
	 * sampled makes room for its reader, and then for others: by the clock of the CPU it would be
	 * found running more often than it is (measured: 40 % at 499 Hz). */
	WAKE_DEEP,
};

struct wake {
	enum wake_mode mode;
	uint32_t seen, cut; /* samples of this window; of those with a deeper stack than was copied */
	uint64_t since_ns, hole_ns; /* the latter: of the last stack with a hole */
	bool starting; /* the target is known to start (set by the owner) */
};

/* A sample came, `cut`: deeper than its copy. Returns the mode to change to; the present one: none. */
enum wake_mode wake_note(struct wake *w, bool cut, uint64_t now_ns);

/* A sample came whose stack has a hole; before its wake_note(). */
void wake_hole(struct wake *w, uint64_t now_ns);

/* That mode is there now (or, the present one once more, the change was not possible). */
void wake_changed(struct wake *w, enum wake_mode mode, uint64_t now_ns);

#endif
