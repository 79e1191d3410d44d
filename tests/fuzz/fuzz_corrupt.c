/*
 * Corrupted target memory: a real recording (tables, code cache, methods, stacks), in which the input
 * changes bytes before the whole pipe replays it. Input: u8 which recording, then (u24 offset, u8
 * value) each.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tests/fuzz/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { MAX_SEEDS = 32, MAX_SEED = 16 << 20 };

static struct {
	uint8_t *bytes;
	size_t len;
} seeds[MAX_SEEDS];
static unsigned n_seeds;

static void load(const char *path)
{
	static uint8_t z[4 << 20];
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(z, 1, sizeof(z), f) : 0;
	unsigned long long len = ZSTD_getFrameContentSize(z, n);

	if (f)
		fclose(f);
	if (len > MAX_SEED || n_seeds == MAX_SEEDS)
		return;
	seeds[n_seeds].bytes = malloc(len);
	seeds[n_seeds].len = ZSTD_decompress(seeds[n_seeds].bytes, len, z, n);
	if (!ZSTD_isError(seeds[n_seeds].len))
		n_seeds++;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	DIR *d = opendir(FIXTURES);
	struct dirent *e;
	char path[512];

	(void)argc;
	(void)argv;
	while (d && (e = readdir(d))) {
		if (!strstr(e->d_name, ".jsrec"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", FIXTURES, e->d_name);
		load(path);
	}
	if (d)
		closedir(d);
	if (!n_seeds) {
		fprintf(stderr, "no recordings in %s\n", FIXTURES);
		abort();
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned which;
	uint8_t *copy;

	if (size < 1)
		return 0;
	which = data[0] % n_seeds;
	copy = malloc(seeds[which].len);
	memcpy(copy, seeds[which].bytes, seeds[which].len);
	for (size_t i = 1; i + 4 <= size && i < 4096; i += 4) {
		size_t at = data[i] | (size_t)data[i + 1] << 8 | (size_t)data[i + 2] << 16;

		copy[at % seeds[which].len] = data[i + 3];
	}
	fuzz_replay(copy, seeds[which].len);
	free(copy);
	return 0;
}
