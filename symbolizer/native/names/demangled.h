#ifndef JS_NATIVE_DEMANGLED_H
#define JS_NATIVE_DEMANGLED_H

/*
 * Readable names that demangle() has made, for a process that names the same functions again and again: making one
 * takes some microseconds, and looking at a CPU clock before and after it as much again. What a name becomes does not
 * depend on whose it is, so several targets may share it. For one thread.
 */
struct demangled;

struct demangled *demangled_new(void); /* NULL: out of memory */
void demangled_free(struct demangled *d);

const char *demangled_find(const struct demangled *d,
			   const char *mangled); /* NULL: not there; valid until the next add */
/*
 * It must not be there already. When names take more than a megabyte, all are forgotten first: a target can make up as
 * many as it likes. Without memory, and if it is longer than demangle() takes, nothing is added.
 */
void demangled_add(struct demangled *d, const char *mangled, const char *readable);

#endif
