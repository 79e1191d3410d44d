#ifndef JS_NATIVE_DEMANGLE_H
#define JS_NATIVE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

enum { DEMANGLE_MAX = 4096 };

/*
 * Makes C++ (and legacy Rust) symbol names readable, without return type, parameters and trailing qualifiers:
 * `_ZN15G1CollectedHeap3runEv` -> `G1CollectedHeap::run`. Suffixes that compilers append to clones and parts
 * (`.isra.0`, `.cold`) are removed from all names; apart from that, other names are not changed. Names come from the
 * target, so those of DEMANGLE_MAX bytes and more, those that would expand enormously, and those that would take long to parse
 * stay mangled. Writes at most size - 1 bytes and a NUL.
 */
void demangle(const char *name, char *dst, size_t size);

/* Is it a name of C++ or Rust, of those that demangle() changes more than by a suffix? */
static inline bool is_mangled(const char *name)
{
	return name[0] == '_' && name[1] == 'Z';
}

#endif
