#ifndef JS_RESOLVE_NAMER_TEXT_H
#define JS_RESOLVE_NAMER_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/resolve/namer.h"

struct buf;

/*
 * Names come from the target: a class name may have 64 KB, a symbol megabytes, and a stack may contain it 2,048
 * times. The middle of a longer name is replaced by a hash of the whole, so that different names stay different, and
 * a method's own name stays visible after that of its class.
 */
enum { NAME_BOUND = 2048, SYSTEM_BOUND = 4096 }; /* bytes: names as shown; with a signature, mangled, or a path */

/* `text` ("" for NULL), or a version of it in `scratch` with at most `max` bytes, not cut within a character. */
const char *namer_bounded(struct buf *scratch, const char *text, size_t max);

/* named_builder_function() with bounded names. UINT32_MAX: out of memory. */
uint32_t namer_function(struct namer *n, const char *name, const char *system, const char *file);

#endif
