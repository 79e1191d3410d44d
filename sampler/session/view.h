#ifndef JS_SESSION_VIEW_H
#define JS_SESSION_VIEW_H

#include <stdbool.h>

#include "sampler/unwind/unwinder.h"

struct attribution;
struct budget;
struct err;
struct hotspot;
struct maps;
struct mem;
struct modmap;
struct proc;
struct recording;
struct recording_writer;

/*
 * All readers of one address space, opened together and dropped together: an execve() of the target
 * makes them all stale at once. Ids in frame keys are valid within one view.
 */
enum jvm_state {
	JVM_ABSENT, /* no libjvm.so mapped (yet) */
	JVM_STARTING, /* tables not filled in yet: try again */
	JVM_READY,
	JVM_UNSUPPORTED, /* a JVM whose memory cannot be read; the reason was said, and is in `why` */
};

struct view {
	struct maps *maps;
	struct mem *mem; /* what is read: the process, a tap over it, or a recording's pages */
	struct mem *live; /* below the tap: the process or a recording's pages; NULL without a tap */
	struct modmap *modmap;
	struct hotspot *hs; /* JVM_READY only */
	struct attribution *attribution;
	struct unwinder *unwinder;
	struct budget *budget; /* borrowed; NULL: none */
	enum jvm_state jvm;
	char why[440]; /* JVM_UNSUPPORTED: the reason; JVM_STARTING: what did not fit, if anything */
	bool native_image; /* GraalVM's: no libjvm.so to read */
	bool was_absent; /* looked for without result before */
	unsigned doubts; /* how often a JVM that has just come did not fit */
};

/*
 * What a target may cost (budget.h): its files, copies of the JVM's code and methods, what its bridge tells, its perf map.
 * Debian's debug information of libjvm.so takes 314 MB and 3 s, more than that of any other library measured. All of
 * jsampler stays below 512 MB besides the stacks that it counts (--max-memory): 25 MB of its own and a queue of 64 MB
 * while sampling, a cache of 64 MB while naming.
 */
#define VIEW_BYTES (UINT64_C(416) << 20)
#define VIEW_FILES_NS UINT64_C(8000000000)
void view_budget(struct budget *ret);

/* `budget` is borrowed, and may be of several views, one after the other. */
int view_open(struct proc *proc, struct unwinder_options o, struct budget *budget, struct view **ret,
	      struct err *err);
/* The same, with everything that is read noted in `w` (borrowed): a snapshot. */
int view_open_noting(struct proc *proc, struct unwinder_options o, struct budget *budget,
		     struct recording_writer *w, struct view **ret, struct err *err);
/* Of a recording (borrowed); `mem`, or `live` below a tap into `w` (NULL: none), is a mem_pages that a
 * replay engine fills. */
int view_open_recording(const struct recording *rec, struct unwinder_options o,
			struct recording_writer *w, struct view **ret, struct err *err);
void view_close(struct view *v);

/* Looks for a JVM if none was found yet; cheap to call again. True when it became ready just now. */
bool view_find_jvm(struct view *v);
/* At the end: says what kept a JVM from being read that never got past JVM_STARTING. */
void view_say_doubts(const struct view *v);

#endif
