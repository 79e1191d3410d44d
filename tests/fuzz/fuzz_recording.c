/* Recordings from byte to byte: the format's parser, and what little a small one lets the pipe do. */
#include <stddef.h>
#include <stdint.h>

#include "tests/fuzz/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_replay(data, size);
	return 0;
}
