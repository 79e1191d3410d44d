#ifndef JS_OUTPUT_PAGE_PACK_H
#define JS_OUTPUT_PAGE_PACK_H

#include <stdint.h>
#include <stdio.h>

/* Writes unsigned LEB128 numbers in base64. Zero-initialise except `out`; end with _end(). */
struct page_packer {
	FILE *out;
	uint8_t pending[3];
	unsigned n;
};

void page_packer_add(struct page_packer *p, uint64_t value);
void page_packer_end(struct page_packer *p);

#endif
