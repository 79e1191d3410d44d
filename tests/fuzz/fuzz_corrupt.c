/*
 * Corrupted target memory: a real recording (tables, code cache, methods, machine code, stacks), in
 * which the input changes bytes before the whole pipe replays it. Input: u8 which recording, then
 * changes of six bytes: u8 where (a register, a stack, memory, anywhere), u8 and u16 that choose the
 * place, u8 how, u8 value.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "sampler/recording/format.h"
#include "tests/fuzz/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { MAX_SEEDS = 128, MAX_SEED = 16 << 20, MAX_PARTS = 512, MAX_CHANGES = 64 };

struct part {
	size_t at, len;
};

struct seed {
	uint8_t *bytes;
	size_t len;
	struct part memory[MAX_PARTS], samples[MAX_PARTS];
	size_t n_memory, n_samples;
};

static struct seed seeds[MAX_SEEDS];
static unsigned n_seeds;

static uint32_t get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void find_parts(struct seed *s)
{
	size_t at = RECORDING_MAGIC_LEN;

	while (at + 8 <= s->len) {
		uint32_t tag = get_u32(s->bytes + at), len = get_u32(s->bytes + at + 4);

		if (tag == TAG_MEMORY && s->n_memory < MAX_PARTS)
			s->memory[s->n_memory++] = (struct part){at + 8, len};
		if (tag == TAG_SAMPLE && s->n_samples < MAX_PARTS)
			s->samples[s->n_samples++] = (struct part){at + 8, len};
		at += 8 + (size_t)len;
	}
}

static void load(const char *path)
{
	static uint8_t z[4 << 20];
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(z, 1, sizeof(z), f) : 0;
	unsigned long long len = ZSTD_getFrameContentSize(z, n);
	struct seed *s = &seeds[n_seeds];

	if (f)
		fclose(f);
	if (len > MAX_SEED || n_seeds == MAX_SEEDS)
		return;
	s->bytes = malloc(len);
	s->len = ZSTD_decompress(s->bytes, len, z, n);
	if (ZSTD_isError(s->len))
		return;
	find_parts(s);
	if (s->n_memory && s->n_samples)
		n_seeds++;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_recording(const struct dirent *e)
{
	return strstr(e->d_name, ".jsrec") != NULL;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct dirent **list;
	int n = scandir(FIXTURES, &list, is_recording, compare_names);
	char path[512];

	(void)argc;
	(void)argv;
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", FIXTURES, list[i]->d_name);
		load(path);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	if (n_seeds)
		return 0;
	fprintf(stderr, "no recordings in %s\n", FIXTURES);
	abort();
}

/* Most of a sample is its stack, its first bytes are registers. */
static size_t place(const struct seed *s, const uint8_t *c)
{
	const struct part *p = c[0] & 1 ? &s->samples[c[1] % s->n_samples] : &s->memory[c[1] % s->n_memory];
	size_t at = (size_t)c[2] << 8 | c[3];

	if (c[0] & 2)
		return (at * 67 + c[1]) % s->len;
	if (p->len == 0)
		return 0;
	if (c[0] & 4)
		return p->at + at % (p->len < 256 ? p->len : 256);
	return p->at + at * (p->len / 65536 + 1) % p->len;
}

static void change(struct seed *s, uint8_t *copy, const uint8_t *c)
{
	size_t at = place(s, c);
	uint64_t word = 0;

	switch (c[4] & 3) {
	case 0: copy[at] = c[5]; break;
	case 1: copy[at] ^= (uint8_t)(1u << (c[5] & 7)); break;
	case 2: /* a word with an extreme value */
		word = c[5] & 1 ? UINT64_MAX >> (c[5] >> 2) : UINT64_C(1) << (c[5] >> 2);
		if (at + sizeof(word) <= s->len)
			memcpy(copy + at, &word, sizeof(word));
		break;
	default: /* a word from somewhere else: a pointer, usually */
		if (at + sizeof(word) <= s->len && at + 8u * (c[5] + 2u) <= s->len)
			memcpy(copy + at, s->bytes + at + 8u * (c[5] + 1u), sizeof(word));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seed *s;
	uint8_t *copy;

	if (size < 1)
		return 0;
	s = &seeds[data[0] % n_seeds];
	copy = malloc(s->len);
	memcpy(copy, s->bytes, s->len);
	for (size_t i = 1, n = 0; i + 6 <= size && n < MAX_CHANGES; i += 6, n++)
		change(s, copy, data + i);
	fuzz_replay(copy, s->len);
	free(copy);
	return 0;
}
