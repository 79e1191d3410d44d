#include "sampler/output/writer.h"

/* Writes nothing, to measure everything else. */
static int null_write(const struct named_profile *np, const struct writer_options *o, FILE *out, struct err *err)
{
	(void)np;
	(void)o;
	(void)out;
	(void)err;
	return 0;
}

const struct writer writer_null = {
	.name = "null",
	.endings = "",
	.write = null_write,
};
