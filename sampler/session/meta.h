#ifndef JS_SESSION_META_H
#define JS_SESSION_META_H

#include <stddef.h>

struct named_builder;
struct proc;
struct session_options;
struct session_summary;

/* Command line of the target with blanks for NULs, at most 4 KiB, sanitised; "" when unreadable. */
void meta_command(struct proc *proc, char *dst, size_t size);

/* Fills the meta data of the profile being built, except what the resolver knows. */
void meta_fill(struct named_builder *b, const struct session_options *o,
	       const struct session_summary *sum, const char *command, const char *jdk);

#endif
