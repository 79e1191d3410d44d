#ifndef JS_RESOLVE_NAMER_TEXT_H
#define JS_RESOLVE_NAMER_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/resolve/namer.h"

struct buf;

/*
 * Names are the target's: a class may have one of 64 KB, a symbol one of megabytes, and a stack has it 2,048 times. The
 * middle of a longer one is replaced by a hash of all of it, so that different names stay different and a method keeps
 * its own name behind that of its class.
 */
enum { NAME_BOUND = 2048, SYSTEM_BOUND = 4096 }; /* bytes: as shown; with a signature, mangled, a path */

/* `text` ("" for NULL), or at most `max` bytes for it, whole characters, in `scratch`, the caller's. */
const char *namer_bounded(struct buf *scratch, const char *text, size_t max);

/* named_builder_function() with bounded names. UINT32_MAX: out of memory. */
uint32_t namer_function(struct namer *n, const char *name, const char *system, const char *file);

#endif
