#ifndef JS_HOST_SCAN_H
#define JS_HOST_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/*
 * Finds new JVMs by looking at the names and mappings of processes, again and again (look_when.h). A look may be late
 * by a quarter of its delay, and until the next turn, so that it is shared with others: each needs a child process.
 */
struct scan;

struct scan_found {
	pid_t pid;
	uint64_t start_ticks; /* since boot */
	uid_t uid; /* real */
	bool in_namespace; /* a user namespace, in which one user may have 65,536 ids (newuidmap(1)) */
};

struct scan *scan_new(void); /* NULL: out of memory */
void scan_free(struct scan *s);

void scan_again(struct scan *s, pid_t pid); /* looks at it in the next turn, as if it were new */
/*
 * Any process may have become a JVM: looks at some in the next turn although it is not their time, users in turn, and
 * those first that were not looked at for longest. At most every 3 s, and at most 64, since any program can cause this.
 */
void scan_any(struct scan *s);

/*
 * Whether somebody tells, by scan_again(), when a process may have become a JVM. It is not relied on for a minute after
 * scan_any(), and not before this is called.
 */
void scan_told(struct scan *s, bool told);

/* About a process that may be a JVM. Returns whether it is known now, and need not be looked at until scan_again(). */
typedef bool scan_found_fn(void *ctx, const struct scan_found *f);

/* From time to time. 0; 1: there was no time for some processes, which are looked at in a later turn, soon; or -errno. */
int scan_turn(struct scan *s, scan_found_fn *found, void *ctx, struct err *err);

#endif
