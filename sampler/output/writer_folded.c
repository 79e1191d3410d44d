#include <errno.h>

#include "sampler/output/folded_lines.h"
#include "sampler/output/gzip.h"
#include "sampler/output/writer.h"
#include "symbolizer/base/err.h"

static int to_file(void *ctx, const char *bytes, size_t len)
{
	errno = 0;
	if (fwrite(bytes, 1, len, ctx) == len)
		return 0;
	return errno ? -errno : -EIO;
}

static int folded_write(const struct named_profile *np, const struct writer_options *o, FILE *out, struct err *err)
{
	int rc = folded_lines(np, o, to_file, out, NULL, err);

	return rc == -ENOMEM ? rc : writer_end(out, rc, err);
}

static int to_gzip(void *ctx, const char *bytes, size_t len)
{
	gzip_add(ctx, bytes, len);
	return 0;
}

static int folded_gz_write(const struct named_profile *np, const struct writer_options *o, FILE *out, struct err *err)
{
	struct gzip *g = gzip_new(out);
	int rc, end;

	if (!g)
		return err_set(err, -ENOMEM, "out of memory");
	rc = folded_lines(np, o, to_gzip, g, NULL, err);
	end = gzip_end(g);
	return rc ? rc : writer_end(out, end, err);
}

const struct writer writer_folded_gz = {
	.name = "folded",
	.endings = ".folded.gz .collapsed.gz",
	.write = folded_gz_write,
};

const struct writer writer_folded = {
	.name = "folded",
	.endings = ".folded .collapsed",
	.write = folded_write,
};
