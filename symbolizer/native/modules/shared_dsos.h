#ifndef JS_NATIVE_SHARED_DSOS_H
#define JS_NATIVE_SHARED_DSOS_H

#include <stdbool.h>
#include <stdint.h>

struct dso;
struct proc;

/*
 * Files that several processes have mapped, each opened and read once: most JVMs of a host run the same libjvm.so. For one thread.
 *
 * The file is the same if device, inode, size, times, path and the process's mount namespace are. A hostile process must not decide what others are told
 * of a file: so file and debug file must belong to root or to the process's user, and be writable by nobody else; files of the process's user
 * are shared among that user's processes. The memory has a limit of its own, in which the size of each file, and SHARED_DSO_INDEX, is set aside for it
 * as long as somebody uses it. A file that has no room there, like one that is not shared for another reason, is the process's own.
 */
struct shared_dsos;
struct shared_dso;

enum { SHARED_DSO_INDEX = 512 << 10 }; /* bytes: budgets for names are held in steps */

struct shared_dsos *shared_dsos_new(uint64_t bytes, uint64_t ns /* CPU time for each file */); /* NULL: out of memory */
void shared_dsos_free(struct shared_dsos *s); /* all must have been given back */

/* Takes over the descriptor. NULL: the file is not shared, and the descriptor is the caller's still. */
struct shared_dso *shared_dsos_take(struct shared_dsos *s, struct proc *p, int fd, const char *path);
void shared_dsos_give(struct shared_dsos *s, struct shared_dso *d);
struct dso *shared_dso_get(const struct shared_dso *d); /* before look-ups, dso_lend() */

/* May what is in that file, which the process has chosen, be told to others? */
bool shared_dsos_may_have(struct proc *p, int fd);

#endif
