#include "sampler/output/page_pack.h"

#include <string.h>

static void put_group(struct page_packer *p)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t v = (uint32_t)p->pending[0] << 16 | p->pending[1] << 8 | p->pending[2];
	char text[4] = {digits[v >> 18], digits[v >> 12 & 63], '=', '='};

	if (p->n > 1)
		text[2] = digits[v >> 6 & 63];
	if (p->n > 2)
		text[3] = digits[v & 63];
	fwrite(text, 1, sizeof(text), p->out);
	memset(p->pending, 0, sizeof(p->pending));
	p->n = 0;
}

static void put_byte(struct page_packer *p, uint8_t byte)
{
	p->pending[p->n++] = byte;
	if (p->n == sizeof(p->pending))
		put_group(p);
}

void page_packer_add(struct page_packer *p, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		put_byte(p, (value & 0x7f) | 0x80);
	put_byte(p, value);
}

void page_packer_end(struct page_packer *p)
{
	if (p->n)
		put_group(p);
}
