#ifndef JS_OUTPUT_PAGE_H
#define JS_OUTPUT_PAGE_H

#include <stddef.h>

/*
 * The page of page/main.js, as built by esbuild and scripts/embed.cmake: what precedes and follows
 * the data.
 */
extern const unsigned char page_head[], page_tail[];
extern const size_t page_head_len, page_tail_len;

/*
 * The same for page/main_diff.js, whose data has samples of two sides (sampler/diff/diff_html.h).
 */
extern const unsigned char page_diff_head[], page_diff_tail[];
extern const size_t page_diff_head_len, page_diff_tail_len;

/* The same for page/main_slices.js, whose data has time slices. */
extern const unsigned char page_slices_head[], page_slices_tail[];
extern const size_t page_slices_head_len, page_slices_tail_len;

#endif
