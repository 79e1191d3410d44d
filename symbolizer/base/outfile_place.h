#ifndef JS_BASE_OUTFILE_PLACE_H
#define JS_BASE_OUTFILE_PLACE_H

#include <stdbool.h>

struct err;
struct path_end;

/*
 * Where an output goes. Returns a descriptor (>= 0) for what is written in place: a FIFO, a device, an open descriptor;
 * -1 if a file is to be created or replaced under end->name in end->dir; else a negative errno below -1 (-EPERM, which is
 * -1, becomes -EACCES), with a message in *why if errno does not explain it.
 * own_only: -EEXIST if the name is taken by anything but a regular file of the caller.
 */
int outfile_place(const char *path, bool own_only, struct path_end *end, struct err *why);

/* Checks again, just before the file gets its name: -EEXIST if what has the name now must not be replaced. */
int outfile_place_check(int dir, const char *name, bool own_only, struct err *why);

#endif
