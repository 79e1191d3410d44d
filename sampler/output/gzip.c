#include "sampler/output/gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
	BUFFER = 64 * 1024,
	WINDOW = 15 + 16, /* with a gzip header */
	MEMORY = 8, /* zlib's default */
	LEVEL = 5,
};

struct gzip {
	FILE *out;
	z_stream z;
	bool plain;
	int rc;
	size_t n; /* bytes in `in`: deflate() is faster with many at once */
	unsigned char in[BUFFER], packed[BUFFER];
};

/* Clearing the buffers, too, would take longer than writing a small profile. */
static struct gzip *new_one(FILE *out, bool plain)
{
	struct gzip *g = malloc(sizeof(*g));

	if (!g)
		return NULL;
	memset(g, 0, offsetof(struct gzip, in));
	g->out = out;
	g->plain = plain;
	return g;
}

struct gzip *gzip_new(FILE *out)
{
	struct gzip *g = new_one(out, false);

	if (!g)
		return NULL;
	if (deflateInit2(&g->z, LEVEL, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) == Z_OK)
		return g;
	free(g);
	return NULL;
}

struct gzip *gzip_new_plain(FILE *out)
{
	return new_one(out, true);
}

static void put(struct gzip *g, const void *bytes, size_t len)
{
	if (g->rc)
		return;
	errno = 0;
	if (fwrite(bytes, 1, len, g->out) != len)
		g->rc = errno ? -errno : -EIO;
}

static void flush_in(struct gzip *g, int flush)
{
	if (g->plain) {
		put(g, g->in, g->n);
		g->n = 0;
		return;
	}
	g->z.next_in = g->in;
	g->z.avail_in = g->n;
	g->n = 0;
	while (!g->rc) {
		g->z.next_out = g->packed;
		g->z.avail_out = BUFFER;
		deflate(&g->z, flush);
		put(g, g->packed, BUFFER - g->z.avail_out);
		if (g->z.avail_out)
			break;
	}
}

void gzip_add(struct gzip *g, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		size_t n = len < BUFFER - g->n ? len : BUFFER - g->n;

		memcpy(g->in + g->n, p, n);
		g->n += n;
		p += n;
		len -= n;
		if (g->n == BUFFER)
			flush_in(g, Z_NO_FLUSH);
	}
}

int gzip_end(struct gzip *g)
{
	int rc;

	flush_in(g, Z_FINISH);
	rc = g->rc;
	deflateEnd(&g->z);
	free(g);
	return rc;
}
