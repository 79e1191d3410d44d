/* Class files, which any program may define: calls are inserted, and the result is a class file as well. */
#include <stdint.h>
#include <stdlib.h>

#include "jvm-bridge/host/rewrite/rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void changed_again(unsigned what, const uint8_t *data, size_t size, unsigned methods)
{
	struct rewriting r;

	/* The second time there may be no room left. */
	if (!rewriting_begin(&r, what, data, size) && r.methods + r.left_out < methods)
		abort();
	rewriting_done(&r);
}

static void change(unsigned what, const uint8_t *data, size_t size)
{
	struct rewriting r;
	uint8_t *to;

	if (!rewriting_begin(&r, what, data, size)) {
		to = malloc(rewriting_size(&r));
		if (!to)
			abort();
		rewriting_write(&r, 1, to);
		changed_again(what, to, rewriting_size(&r), r.methods + r.left_out);
		free(to);
	}
	rewriting_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	change(INSERT_CALLS, data, size);
	change(INSERT_ALLOCS, data, size);
	change(INSERT_CALLS | INSERT_ALLOCS, data, size);
	return 0;
}
