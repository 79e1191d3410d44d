/* A time as people type it, for --since and --until. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/cli/daemon/when.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t now = UINT64_C(1795534160000000000), day = UINT64_C(90000000000000);
	char *text = malloc(size + 1);
	uint64_t at;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (when_parse(text, now, &at) == 0) {
		if (at > INT64_MAX)
			abort();
		/* A time without a date is of the last day, which has up to 25 hours. */
		if (strchr(text, ':') && !strchr(text, '-') && (at > now || at < now - day))
			abort();
	}
	free(text);
	return 0;
}
