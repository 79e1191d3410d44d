#ifndef JS_UNWIND_STEP_H
#define JS_UNWIND_STEP_H

#include <stdbool.h>
#include <stdint.h>

struct code;
struct flow_options;
struct flow_row;
struct walker;

/*
 * One step from a frame to its caller, one function for each owner of a pc. Each pushes the key of the frame that it
 * leaves (none if there is no frame yet) and replaces the registers with the caller's. Returns STEP_MORE, or the
 * reason why the walk ends (enum walk_end).
 */
int step_native(struct walker *w);
int step_java(struct walker *w); /* any pc in the code cache */
int step_interp(struct walker *w);
int step_compiled(struct walker *w, const struct code *c);
int step_stub(struct walker *w, const struct code *c);

int step_call_stub(struct walker *w);
int step_return_barrier(struct walker *w, const struct code *c);

/* Pushes all frozen frames that were copied with the sample (hs_frozen.h). False: there are none. */
bool step_frozen(struct walker *w);

/* Continues from a frame anchor when there is no other way; sets walker.resynchronised, unless that is certainly the
 * caller. False: no anchor further out. */
bool step_anchor(struct walker *w);

/*
 * Leaves a complete frame of `c` whose own sp is `sp`: its last word is the return address, and the caller's sp is behind
 * that (JDK src/hotspot/cpu/x86/frame_x86.cpp, 17: sender_for_compiled_frame()). False: there is no return address.
 */
bool step_by_size(struct walker *w, const struct code *c, uint64_t sp, bool checked);

/* Leaves by a flow row. False: its return address is not a valid one. */
bool step_by_row(struct walker *w, const struct flow_row *row);

/* Leaves by the frame pointer, if that leads to a call; returns what steps return, but pushes nothing. */
int step_frame_pointer(struct walker *w);

/* Leaves by the return address at [sp]. */
bool step_top(struct walker *w);

/* What flow_follow() needs for the code of `c`. */
struct flow_options step_flow_options(struct walker *w, const struct code *c, unsigned budget);

#endif
