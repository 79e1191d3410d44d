#include <errno.h>
#include <stdio.h>

#include "sampler/output/page.h"
#include "sampler/output/page_data.h"
#include "sampler/output/writer.h"
#include "symbolizer/base/err.h"

/* The page merges frames by method, so it needs neither suffixes nor lines. */
static int html_write(const struct named_profile *np, const struct writer_options *o, FILE *out, struct err *err)
{
	bool slices = page_data_slices(np) > 0;
	int r;

	(void)o;
	errno = 0;
	if (slices)
		fwrite(page_slices_head, 1, page_slices_head_len, out);
	else
		fwrite(page_head, 1, page_head_len, out);
	r = page_data_write(np, out);
	if (r)
		return err_set(err, r, "out of memory");
	if (slices)
		fwrite(page_slices_tail, 1, page_slices_tail_len, out);
	else
		fwrite(page_tail, 1, page_tail_len, out);
	return writer_end(out, 0, err);
}

const struct writer writer_html = {
	.name = "html",
	.endings = ".html .htm",
	.write = html_write,
};
