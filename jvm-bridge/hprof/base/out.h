#ifndef JS_HPROF_OUT_H
#define JS_HPROF_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "jvm-bridge/hprof/base/options.h"

/*
 * The profile's destination: a file or a connection, buffered. If writing fails (disk full, connection gone), a
 * message is printed once, further output is discarded, and a file ends after the last record marked whole.
 */
int out_open(const struct hprof_options *o); /* 0, or -errno: a message has been printed */
/*
 * Ends the file and goes on in FILE.1, FILE.2 and so on; with force=n, in one that is new. Returns its name; NULL: not a
 * file, or there can be none (a message has been printed): output goes on as before.
 */
const char *out_next(void);
void out_put(const void *data, size_t n);
void out_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void out_whole(void); /* a record ends here */
void out_flush(void);
void out_close(void);

/* Reads n bytes from the other end of the connection. 0, or -errno: no more will come. Needs no lock. */
int out_read(void *data, size_t n);

#endif
