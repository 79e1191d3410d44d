#ifndef JS_SESSION_PARTS_THREADS_H
#define JS_SESSION_PARTS_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/session/parts/part.h"

struct hotspot;
struct proc;
struct profile;

/*
 * What a session knows about the target's threads: the tid in the target's own PID namespace, and the name. While
 * samples arrive, those of Java threads are refreshed every two seconds (Thread.setName), or as threads_rename_every()
 * says, others more and more rarely, up to every minute, and HotSpot's own every hour. The name of the first thread is
 * kept when it becomes "DestroyJavaVM".
 */
struct threads;

/*
 * NULL: out of memory. proc (borrowed) is NULL for a recording, whose threads come from
 * threads_add_recorded().
 */
struct threads *threads_new(struct proc *proc, pid_t pid);
void threads_add_recorded(struct threads *t, pid_t tid, int32_t ns_tid, const char *name, struct profile *p);
extern const struct part_ops threads_part;

/* A sample of `tid` (-1: of a thread that has ended) arrived. Returns the tid in the target's namespace (0: unknown);
 * names the thread in `p` when it is new or due. hs may be NULL. */
int32_t threads_seen(struct threads *t, pid_t tid, uint64_t now_ns, struct hotspot *hs, struct profile *p);

/* The kernel's name, used until a better one is known. */
void threads_comm(struct threads *t, pid_t tid, const char *comm, struct hotspot *hs, struct profile *p);

/* At the end: looks up once more the names of threads that have only the kernel's name. */
void threads_name_rest(struct threads *t, struct hotspot *hs, struct profile *p);

/* How often names of Java threads are refreshed, if not every two seconds. */
void threads_rename_every(struct threads *t, uint64_t ns);

/* threads_comm() tells of each new name: the kernel's is read only once, and again after threads_rename_all(). */
void threads_told(struct threads *t);

/* Looks up the thread's name again at its next sample. */
void threads_rename(struct threads *t, pid_t tid);

/* The same for all threads: a JVM was found, or replaced. */
void threads_rename_all(struct threads *t);

/*
 * Ends of threads may have been missed, and their tids may belong to others now: as threads_rename_all(), and those that
 * were not sampled since the last call are forgotten.
 */
void threads_forget(struct threads *t);

/* Did threads end, or were some forgotten, since the profile began? It has names of TIDs that others may get. */
bool threads_some_ended(const struct threads *t);

#endif
