#ifndef JS_HPROF_OUT_H
#define JS_HPROF_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "jvm-bridge/hprof/options.h"

/*
 * Where the profile goes: a file or a connection, buffered. When it cannot be written (disk full, connection gone) that
 * is said once, what follows is thrown away, and a file ends behind the last record that was marked whole.
 */
int out_open(const struct hprof_options *o); /* 0, or -errno: it was said what failed */
void out_put(const void *data, size_t n);
void out_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void out_whole(void); /* a record ends here */
void out_flush(void);
void out_close(void);

/* n bytes from the other end of the connection. 0, or -errno: there will be no more. Needs no lock. */
int out_read(void *data, size_t n);

#endif
