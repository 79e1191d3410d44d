/* The arguments that the JVM was started with, from its own copy (Arguments in runtime/arguments.hpp). */
#include <stdio.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/hotspot/reader/jvm.h"

/* Of a JVM with more arguments, the last ones are looked at. */
enum { ARGUMENTS_MAX = 4096, START_MAX = 80 };

/* The addresses of the last arguments. NULL: none, or they cannot be read. */
static uint64_t *read_array(struct jvm *jvm, size_t *ret_n)
{
	CLEANUP(free_at_exit) uint64_t *v = NULL;
	uint64_t array, n, skip;

	if (!jvm_get(jvm, 0, jvm->l.args_array, &array) || !jvm_get(jvm, 0, jvm->l.args_count, &n) || !addr_ok(array) ||
	    n == 0 || n > INT32_MAX)
		return NULL;
	skip = n > ARGUMENTS_MAX ? n - ARGUMENTS_MAX : 0;
	n -= skip;
	v = malloc(n * sizeof(*v));
	if (!v || !jvm_read_fresh(jvm, array + skip * sizeof(*v), v, (uint32_t)(n * sizeof(*v))))
		return NULL;
	*ret_n = n;
	return take_ptr(v);
}

bool jvm_property(struct jvm *jvm, const char *key, char *dst, size_t size)
{
	CLEANUP(free_at_exit) uint64_t *at = NULL;
	char start[START_MAX], wanted[START_MAX];
	size_t n, len;
	int made = snprintf(wanted, sizeof(wanted), "-D%s=", key);

	if (made < 0 || made >= START_MAX || !(at = read_array(jvm, &n)))
		return false;
	len = (size_t)made;
	while (n--)
		if (addr_ok(at[n]) && mem_read(jvm->mem, at[n], start, len) && memcmp(start, wanted, len) == 0)
			return mem_read_cstr(jvm->mem, at[n] + len, dst, size);
	return false;
}

bool jvm_command(struct jvm *jvm, char *dst, size_t size)
{
	uint64_t at;

	return jvm_get(jvm, 0, jvm->l.java_command, &at) && addr_ok(at) && mem_read_cstr(jvm->mem, at, dst, size);
}
