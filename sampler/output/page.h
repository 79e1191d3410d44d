#ifndef JS_OUTPUT_PAGE_H
#define JS_OUTPUT_PAGE_H

#include <stddef.h>

/* The page as scripts/embed.cmake made it of sampler/output/page: what stands before and behind the
 * data. */
extern const unsigned char page_head[], page_tail[];
extern const size_t page_head_len, page_tail_len;

#endif
