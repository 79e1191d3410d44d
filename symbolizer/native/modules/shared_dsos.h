#ifndef JS_NATIVE_SHARED_DSOS_H
#define JS_NATIVE_SHARED_DSOS_H

#include <stdbool.h>
#include <stdint.h>

struct dso;
struct proc;

/*
 * Files that several processes have mapped, each opened and read only once: most JVMs of a host use the same libjvm.so.
 * For one thread.
 *
 * A file is the same if device, inode, size, times, path and the process's mount namespace are the same. A hostile
 * process must not be able to decide what is read for others. So the file and its debug file must belong to root or to
 * the process's user, and nobody else may be able to write to them; files of the process's user are shared only among
 * that user's processes. The memory has a limit of its own. As long as a file is used, its size plus SHARED_DSO_INDEX
 * is reserved. A file for which there is no room is not shared: each process opens its own.
 */
struct shared_dsos;
struct shared_dso;

enum { SHARED_DSO_INDEX = 512 << 10 }; /* bytes; for names, which take the budget in steps */

struct shared_dsos *shared_dsos_new(uint64_t bytes, uint64_t ns /* CPU time for each file */); /* NULL: out of memory */
void shared_dsos_free(struct shared_dsos *s); /* everything must have been given back before */

/* Takes over the descriptor. NULL: the file is not shared, and the descriptor still belongs to the caller. */
struct shared_dso *shared_dsos_take(struct shared_dsos *s, struct proc *p, int fd, const char *path);
void shared_dsos_give(struct shared_dsos *s, struct shared_dso *d);
struct dso *shared_dso_get(const struct shared_dso *d); /* before look-ups, dso_lend() */

/* May the contents of that file, which the process has chosen, be used for other processes? */
bool shared_dsos_may_have(struct proc *p, int fd);

#endif
