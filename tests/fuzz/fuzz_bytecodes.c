/* The bytecodes of a method, as they are in the target's memory. The first byte: which JDK. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/attribution/decode/bytecodes.h"
#include "symbolizer/hotspot/methods/method.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int jdks[] = {8, 11, 17, 21, 25, 26, 27, 28};
	size_t n = size && size - 1 < UINT16_MAX ? size - 1 : 0;
	uint8_t *code = malloc(n ? n : 1);
	struct hs_method m = {.code_size = (uint16_t)n, .bytecodes = code};

	if (!n || !code) {
		free(code);
		return 0;
	}
	memcpy(code, data + 1, n);
	for (int32_t bci = -1; bci <= (int32_t)n; bci++) {
		struct bytecode b;

		if (!bytecode_at(&m, jdks[data[0] % 8], bci, &b))
			continue;
		if (bci < 0 || b.bci != bci || !b.len || b.len > n - (size_t)bci)
			abort();
	}
	free(code);
	return 0;
}
