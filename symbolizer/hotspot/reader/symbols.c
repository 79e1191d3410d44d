#include "symbolizer/hotspot/reader/jvm.h"

/* A Symbol has a length and that many bytes of modified UTF-8 (JDK src/hotspot/share/oops/symbol.hpp). */

bool symbol_decode(const struct jvm *jvm, struct bytes s, struct bytes *ret, size_t *ret_len)
{
	const struct hs_layout *l = &jvm->l;

	if (s.n <= l->symbol_body.at)
		return false;
	*ret_len = l->symbol_length.ok ? bytes_get(s, l->symbol_length) : bytes_get(s, l->symbol_length_refcount) >> 16;
	*ret = (struct bytes){s.p + l->symbol_body.at, s.n - l->symbol_body.at};
	if (ret->n > *ret_len)
		ret->n = *ret_len;
	return *ret_len <= 65535;
}

bool symbol_read(struct jvm *jvm, uint64_t symbol, uint8_t *buf, size_t size, size_t *ret_len)
{
	uint8_t head[16] = {0};
	size_t n = jvm->l.symbol_body.at, len;
	struct bytes text;

	if (!addr_ok(symbol) || n > sizeof(head) - 1 || !mem_read(jvm->mem, symbol, head, n) ||
	    !symbol_decode(jvm, (struct bytes){head, n + 1}, &text, &len) || len > size)
		return false;
	*ret_len = len;
	return mem_read(jvm->mem, symbol + n, buf, len);
}
