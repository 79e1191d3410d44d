#ifndef JS_BASE_CALL_RULES_H
#define JS_BASE_CALL_RULES_H

#include <seccomp.h>
#include <stddef.h>

/* A system call that a filter allows only with these arguments. */
struct call_rule {
	int call;
	unsigned n;
	struct scmp_arg_cmp arg[2];
};

#define CALLS(array) (array), sizeof(array) / sizeof((array)[0])

/* Allows the calls of both lists: call_rules_allow(f, CALLS(allowed), CALLS(allowed_with)). 0 or -errno. */
int call_rules_allow(scmp_filter_ctx f, const int *allowed, size_t n, const struct call_rule *allowed_with,
		     size_t n_with);

#endif
