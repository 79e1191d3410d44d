#ifndef JS_BASE_OUTFILE_PLACE_H
#define JS_BASE_OUTFILE_PLACE_H

#include <stdbool.h>

struct err;
struct path_end;

/*
 * Decides where an output goes. Returns a descriptor (>= 0) for a FIFO, a device or an open descriptor, which is
 * written directly; -1 if a file named end->name is to be created or replaced in end->dir; otherwise a negative errno
 * below -1 (-EPERM, which is -1, becomes -EACCES), with a message in *why if errno does not explain it.
 * own_only: -EEXIST if anything but a regular file of the caller has the name.
 */
int outfile_place(const char *path, bool own_only, struct path_end *end, struct err *why);

/*
 * Checks again, just before the file gets its name: -EEXIST if the name is now taken by something that must not be
 * replaced.
 */
int outfile_place_check(int dir, const char *name, bool own_only, struct err *why);

#endif
