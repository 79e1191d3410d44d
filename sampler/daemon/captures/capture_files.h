#ifndef JS_CAPTURES_CAPTURE_FILES_H
#define JS_CAPTURES_CAPTURE_FILES_H

#include "sampler/daemon/captures/captures.h"

/*
 * Files of captures, in the directory of the store: capture-ID-PID-HZ-SECONDS-UID.pb.gz. Any pprof reader can read
 * them. Without reading a file, only what is in its name is known.
 */
int capture_file_write(const char *dir, struct capture *c, const struct named_profile *np, struct err *err);
int capture_file_read(const char *dir, const struct capture *c, struct named_profile **ret, struct err *err);

/* All of them, in any order. The caller frees *ret. 0 or -errno. */
int capture_files(const char *dir, struct capture **ret, size_t *ret_n);
/* Removes the oldest files until the limits are met. */
void capture_files_tidy(const char *dir);

/* For qsort(3), of struct capture. */
int captures_newest_first(const void *va, const void *vb);

#endif
