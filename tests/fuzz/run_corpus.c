/*
 * Replays inputs through a fuzzer's entry function, without libFuzzer: what crashed once stays a test.
 * usage: corpus_NAME FILE_OR_DIRECTORY...; directories that do not exist are empty.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

enum { MAX_BYTES = 16 << 20 };

static unsigned n_run;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *bytes = malloc(MAX_BYTES);
	size_t n = f && bytes ? fread(bytes, 1, MAX_BYTES, f) : 0;
	uint8_t *exact = malloc(n + 1); /* so that a read behind the end is seen */
	double start = now(), took;

	if (!f || !bytes || !exact) {
		fprintf(stderr, "%s: cannot read\n", path);
		return 1;
	}
	fclose(f);
	exact = realloc(exact, n ? n : 1);
	memcpy(exact, bytes, n);
	free(bytes);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	n_run++;
	took = now() - start;
	if (took <= 5)
		return 0;
	fprintf(stderr, "%s: took %.1f s\n", path, took);
	return 1;
}

static int run_path(const char *path)
{
	struct dirent **list;
	struct stat st;
	char file[4096];
	int n, failed = 0;

	if (stat(path, &st) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode))
		return run_file(path);
	n = scandir(path, &list, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, list[i]->d_name);
		if (list[i]->d_name[0] != '.')
			failed |= run_path(file);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++)
		failed |= run_path(argv[i]);
	printf("%u inputs\n", n_run);
	return failed;
}
