#ifndef JS_OUTPUT_PAGE_JSON_H
#define JS_OUTPUT_PAGE_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Pieces of the page's data block. Errors of the stream stick to it (ferror()). Text comes from the
 * target and stands inside <script>: besides what JSON asks for, `<`, `>` and `&` are escaped, so
 * that neither `</script>` nor `<!--` can appear, and text is made fit to show (text.h).
 */
void page_json_string(FILE *out, const char *s, size_t len);

/* Unsigned LEB128 numbers in base64, written as they come. Zero but for `out`; end with _end(). */
struct page_packer {
	FILE *out;
	uint8_t pending[3];
	unsigned n;
};

void page_packer_add(struct page_packer *p, uint64_t value);
void page_packer_end(struct page_packer *p);

#endif
