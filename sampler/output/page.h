#ifndef JS_OUTPUT_PAGE_H
#define JS_OUTPUT_PAGE_H

#include <stddef.h>

/* The page as esbuild and scripts/embed.cmake made it of sampler/output/page: what stands before and
 * behind the data. This one is of page/main.js. */
extern const unsigned char page_head[], page_tail[];
extern const size_t page_head_len, page_tail_len;

/* The same of page/main_diff.js: its data has samples of two sides (sampler/diff/diff_html.h). */
extern const unsigned char page_diff_head[], page_diff_tail[];
extern const size_t page_diff_head_len, page_diff_tail_len;

/* The same of page/main_slices.js: its data has time slices. */
extern const unsigned char page_slices_head[], page_slices_tail[];
extern const size_t page_slices_head_len, page_slices_tail_len;

#endif
