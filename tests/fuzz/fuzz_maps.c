/* The text of /proc/PID/maps: untrusted, names in it are the target's. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "symbolizer/target/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct maps *m;

	if (maps_parse((const char *)data, size, &m) < 0)
		return 0;
	for (size_t i = 0; i < maps_count(m); i++) {
		const struct mapping *map = maps_at(m, i);

		if (maps_find(m, map->start) != map || map->end <= map->start)
			abort();
	}
	maps_close(m);
	return 0;
}
