#ifndef JS_PPROF_PPROF_KIND_H
#define JS_PPROF_PPROF_KIND_H

#include <stdint.h>

/* Converts between enum named_kind, which may change, and Kind of profile.proto, which is in files. */
int pprof_kind(uint8_t named_kind);
int pprof_named_kind(int kind); /* -1: unknown, or not known to this build */

#endif
