#ifndef JS_RECORDING_DSO_PARSE_H
#define JS_RECORDING_DSO_PARSE_H

#include <stdbool.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/cursor.h"
#include "symbolizer/native/dso_record.h"

/* Parses a DSO section after its path. All arrays are in the arena. false: malformed or out of memory. */
bool dso_parse(struct cursor *c, struct arena *a, struct dso_record *ret);

#endif
