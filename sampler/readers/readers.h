#ifndef JS_READERS_READERS_H
#define JS_READERS_READERS_H

#include <stdbool.h>

#include "sampler/unwind/unwinder.h"

struct attribution;
struct budget;
struct demangled;
struct err;
struct hotspot;
struct maps;
struct mem;
struct modmap;
struct proc;
struct recording;
struct recording_writer;
struct readers_shared;

/*
 * All readers of one address space, opened and closed together: an execve() of the target
 * invalidates all of them at once. Ids in frame keys are valid only with the same readers.
 */
enum jvm_state {
	JVM_ABSENT, /* no libjvm.so mapped (yet) */
	JVM_STARTING, /* tables not filled in yet: try again */
	JVM_READY,
	JVM_UNSUPPORTED, /* a JVM whose memory cannot be read; the reason was logged, and is in `why` */
};

struct readers {
	struct proc *proc; /* borrowed; NULL: a recording */
	struct maps *maps;
	struct mem *mem; /* what is read: the process, a tap over it, or a recording's pages */
	struct mem *live; /* below the tap: the process or a recording's pages; NULL without a tap */
	struct modmap *modmap;
	struct hotspot *hs; /* JVM_READY only */
	struct hotspot *starting; /* JVM_STARTING only: see hotspot_open(); may be NULL */
	struct attribution *attribution;
	struct unwinder *unwinder;
	struct budget *budget; /* borrowed; NULL: none */
	struct readers_shared *shared; /* borrowed; NULL: nothing */
	enum jvm_state jvm;
	char why[440]; /* JVM_UNSUPPORTED: the reason; JVM_STARTING: what did not fit, if anything */
	bool native_image; /* GraalVM's: no libjvm.so to read */
	bool exported_only; /* read only exported symbols of libjvm.so: enough for the version, but not for the names of stubs, and much less to read */
	bool young; /* the process's loader may still be at work: it has just started, or had no JVM earlier */
	unsigned doubts; /* failed attempts to read a JVM */
	uint64_t doubted_ns; /* the first of these */
};

/*
 * What a target may cost (budget.h): its files, copies of the JVM's code and methods, what its
 * bridge sends, its perf map. Debian's debug information of libjvm.so takes 314 MB and 3 s, more
 * than that of any other library measured. Apart from the stacks that it counts (--max-memory),
 * jsampler stays below 512 MB: 25 MB of its own and a queue of 64 MB while sampling, a cache of 64
 * MB while naming.
 */
#define READERS_BYTES (UINT64_C(392) << 20)
#define READERS_FILES_NS UINT64_C(8000000000)
void readers_budget(struct budget *ret);

/*
 * `budget` is borrowed and may be shared. `w` (borrowed) records everything that is read, for a
 * snapshot; NULL: nothing.
 */
int readers_open(struct proc *proc, struct unwinder_options o, struct budget *budget, struct recording_writer *w,
		 struct readers **ret, struct err *err);
/*
 * For a recording (borrowed): `mem`, or `live` below a tap into `w` (NULL: none), is a mem_pages
 * that a replay engine fills.
 */
int readers_open_recording(const struct recording *rec, struct unwinder_options o, struct recording_writer *w,
			   struct readers **ret, struct err *err);
void readers_close(struct readers *v);

/*
 * For readers of several processes in one thread: files that more than one has mapped are read only once
 * (shared_dsos.h). Their memory is taken from READERS_BYTES. Each process has its own time for its look-ups, and each
 * file has as much. The readers share one cache of graphs (attribution.h), one of pages (mem_live.h), an unwinder's room
 * (unwinder.h), and readable names (demangled.h). Free it after the readers.
 */
#define READERS_SHARED_BYTES (UINT64_C(160) << 20)
struct readers_shared *readers_shared_new(void); /* NULL: out of memory */
void readers_shared_free(struct readers_shared *s);
void readers_share(struct readers *v, struct readers_shared *s); /* right after readers_open() */
struct demangled *readers_demangled(const struct readers *v); /* NULL: they share nothing */

/*
 * Looks for a JVM if none was found yet; cheap to call again. True if it has just become readable.
 */
bool readers_find_jvm(struct readers *v);
/* Between hotspot_forget_begin() and hotspot_forget_end(): keeps what the frame key stands for. */
void readers_keep_frame(struct hotspot *hs, const struct frame_key *k);
/* At the end: logs why a JVM stayed JVM_STARTING. */
void readers_say_doubts(const struct readers *v);

#endif
