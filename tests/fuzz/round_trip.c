#include "round_trip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/input/reader.h"
#include "sampler/output/writer.h"
#include "sampler/profile/named_builder.h"

static const struct writer_options options = {.annotate = true, .lines = true};

static char *print(const struct named_profile *np, const struct writer *w, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	if (!f || w->write(np, &options, f, NULL) || fclose(f))
		abort();
	return text;
}

/* In gzip: that is what files are, and bytes in memory may not be. */
static struct named_profile *read_pprof(const char *bytes, size_t len)
{
	int fd = memfd_create("pprof", MFD_CLOEXEC);
	struct named_profile *np;
	char path[64];

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (reader_open_profile(path, &np, NULL, NULL))
		abort();
	close(fd);
	return np;
}

static void check(const struct named_profile *np, const char *want)
{
	size_t len;
	char *got = print(np, &writer_folded, &len);

	if (strcmp(got, want))
		abort();
	free(got);
}

void round_trip(const uint8_t *data, size_t size, const char *name)
{
	struct named_profile *np, *back;
	size_t text_len, len;
	char *text, *bytes;

	if (reader_parse_profile(data, size, name, &np, NULL, NULL))
		return;
	text = print(np, &writer_folded, &text_len);
	free(print(np, &writer_html, &len));
	free(print(np, &writer_speedscope, &len));
	bytes = print(np, &writer_pprof, &len);
	back = read_pprof(bytes, len);
	free(bytes);
	check(back, text);
	named_profile_free(back);
	if (!reader_parse_profile(text, text_len, "x.folded", &back, NULL, NULL)) {
		check(back, text);
		named_profile_free(back);
	} else {
		abort();
	}
	free(text);
	named_profile_free(np);
}
