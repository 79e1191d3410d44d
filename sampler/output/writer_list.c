#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "sampler/output/writer.h"
#include "symbolizer/base/err.h"

static const struct writer *const writers[] = {
	&writer_folded,     &writer_folded_gz, &writer_html, &writer_pprof,  &writer_pprof_plain,
	&writer_speedscope, &writer_text,      &writer_null, &writer_digest,
};

enum { N_WRITERS = sizeof(writers) / sizeof(writers[0]) };

const struct writer *writer_find(const char *format)
{
	for (size_t i = 0; i < N_WRITERS; i++)
		if (!strcmp(writers[i]->name, format))
			return writers[i];
	return NULL;
}

/*
 * Length of the longest matching ending of `path`; 0: none. A name that is only an ending counts,
 * too.
 */
static size_t ending_match(const char *endings, const char *path)
{
	size_t path_len = strlen(path), best = 0, len;

	for (const char *e = endings; *e; e += len + strspn(e + len, " ")) {
		len = strcspn(e, " ");
		if (len > best && len <= path_len && !strncmp(path + path_len - len, e, len))
			best = len;
	}
	return best;
}

const struct writer *writer_for_path(const char *path)
{
	const struct writer *found = NULL;
	size_t best = 0, len;

	/* The longest ending wins: .speedscope.json is not .json. */
	for (size_t i = 0; i < N_WRITERS; i++) {
		len = ending_match(writers[i]->endings, path);
		if (len > best) {
			best = len;
			found = writers[i];
		}
	}
	return found;
}

const struct writer *writer_in_gzip(const char *format)
{
	for (size_t i = 0; i < N_WRITERS; i++)
		if (!strcmp(writers[i]->name, format) && strstr(writers[i]->endings, ".gz"))
			return writers[i];
	return NULL;
}

int writer_end(FILE *out, int r, struct err *err)
{
	if (!r && (fflush(out) || ferror(out)))
		r = errno ? -errno : -EIO;
	return r ? err_set(err, r, "cannot write: %s", strerror(-r)) : 0;
}

/* Formats without an ending are for tests and are not listed. */
void writer_names(char *dst, size_t size)
{
	size_t len = 0;

	if (!size)
		return;
	*dst = '\0';
	for (size_t i = 0; i < N_WRITERS; i++) {
		if (!*writers[i]->endings || writer_find(writers[i]->name) != writers[i])
			continue;
		if (len + 2 + strlen(writers[i]->name) >= size)
			return;
		len = (size_t)(stpcpy(stpcpy(dst + len, len ? ", " : ""), writers[i]->name) - dst);
	}
}
