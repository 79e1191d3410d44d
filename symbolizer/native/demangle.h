#ifndef JS_NATIVE_DEMANGLE_H
#define JS_NATIVE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * C++ (and legacy Rust) symbol names made readable, without parameters and without trailing
 * qualifiers: `_ZN13G1CollectedHeap3runEv` -> `G1CollectedHeap::run`. Other names unchanged.
 * Writes at most size - 1 bytes, NUL-terminated.
 */
void demangle(const char *name, char *dst, size_t size);

#endif
