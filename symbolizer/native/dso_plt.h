#ifndef JS_NATIVE_DSO_PLT_H
#define JS_NATIVE_DSO_PLT_H

#include <stdint.h>

#include "symbolizer/native/dso.h"

struct dso_plt;

/*
 * Finds the stub at an address of the procedure linkage table. It is named after the function that it calls
 * ("memcpy@plt", without a version). -ENOENT: there is none, or the function has no name. The name is borrowed from the
 * DSO.
 */
int dso_plt_find(struct dso *d, uint64_t vaddr, struct dso_symbol *ret);

void dso_plt_free(struct dso_plt *p);

#endif
