/* An expression of --fail-if. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/diff/gate.h"
#include "sampler/views/name_pattern.h"
#include "symbolizer/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is accepted has a pattern that can be used, and a limit on the side that the comparison says. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct gate g = {0};
	struct err e = {0};

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (gate_parse(text, &g, &e) < 0) {
		if (!*e.msg || g.pattern)
			abort();
	} else if (name_pattern_check(g.pattern, &e) < 0 || (g.less ? g.limit > 0 : g.limit < 0)) {
		abort();
	}
	gate_done(&g);
	free(text);
	return 0;
}
