#ifndef JS_UNWIND_STEP_H
#define JS_UNWIND_STEP_H

#include <stdbool.h>
#include <stdint.h>

struct code;
struct flow_options;
struct flow_row;
struct walker;

/*
 * One step from a frame to its caller, by the owner of the pc. Each pushes the key of the frame it
 * leaves (or none, where no frame was made yet) and changes the registers to the caller's.
 * STEP_MORE, or a reason for the end of the walk (enum walk_end).
 */
int step_native(struct walker *w);
int step_java(struct walker *w); /* any pc in the code cache */
int step_interp(struct walker *w);
int step_compiled(struct walker *w, const struct code *c);
int step_stub(struct walker *w, const struct code *c);

int step_call_stub(struct walker *w);
int step_return_barrier(struct walker *w, const struct code *c);

/* Pushes the frames of the sample's copy of the heap (hs_frozen.h), all of them or none: false. */
bool step_frozen(struct walker *w);

/* From a frame anchor, when there is no other way on; walker.resynchronised, unless that is surely the caller.
 * false: no anchor further out. */
bool step_anchor(struct walker *w);

/* hotspot.md 6.1: a whole frame of `c` with its own sp at `sp`. false: not a return address there. */
bool step_by_size(struct walker *w, const struct code *c, uint64_t sp, bool checked);

/* Leaves by a flow row, when its return address is one. */
bool step_by_row(struct walker *w, const struct flow_row *row);

/* Return address at [sp]. */
bool step_top(struct walker *w);

/* What flow_follow() needs for the code of `c`. */
struct flow_options step_flow_options(struct walker *w, const struct code *c, unsigned budget);

#endif
