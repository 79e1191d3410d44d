#include <errno.h>
#include <inttypes.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/folded_lines.h"
#include "sampler/output/writer.h"
#include "symbolizer/base/err.h"

/* FNV-1a, 64 bits: golden files contain it, so it must not depend on our own hash functions. */
static int digest_bytes(void *ctx, const char *bytes, size_t len)
{
	uint64_t *hash = ctx, h = *hash;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)bytes[i]) * 0x100000001b3ull;
	*hash = h;
	return 0;
}

/* What tests compare: totals, and a hash over the folded text. */
static int digest_write(const struct named_profile *np, const struct writer_options *o, FILE *out, struct err *err)
{
	uint64_t hash = 0xcbf29ce484222325ull, lines = 0, samples = 0, weight = 0;
	int rc = folded_lines(np, o, digest_bytes, &hash, &lines, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < np->n_samples; i++) {
		samples += np->samples[i].count;
		weight += np->samples[i].weight;
	}
	if (fprintf(out, "samples %" PRIu64 "\nweight %" PRIu64 "\nlines %" PRIu64 "\nhash %016" PRIx64 "\n", samples,
		    weight, lines, hash) < 0)
		return err_set(err, -EIO, "cannot write the digest");
	return 0;
}

const struct writer writer_digest = {
	.name = "digest",
	.endings = "",
	.write = digest_write,
};
