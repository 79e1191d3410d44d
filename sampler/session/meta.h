#ifndef JS_SESSION_META_H
#define JS_SESSION_META_H

#include <stdbool.h>
#include <stddef.h>

struct named_builder;
struct proc;
struct session_options;
struct session_summary;

/* The target's command line as profiles store it (command_line.h); "" if it cannot be read. */
void meta_command(struct proc *proc, bool whole, char *dst, size_t size);

/* Fills the meta data of the profile being built, except what the resolver knows. */
void meta_fill(struct named_builder *b, const struct session_options *o, const struct session_summary *sum,
	       const char *command, const char *jdk);

#endif
