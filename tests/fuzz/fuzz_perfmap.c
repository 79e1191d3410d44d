/* /tmp/perf-PID.map: anybody's text with addresses and names. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/native/names/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sum;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perfmap *p;

	if (perfmap_parse((const char *)data, size, &p) < 0)
		return 0;
	for (uint64_t addr = 0; addr < 0x10000; addr += 0x101) {
		const char *name = perfmap_find(p, addr);

		sum += name ? strlen(name) : 0;
	}
	perfmap_find(p, UINT64_MAX);
	perfmap_close(p);
	return 0;
}
