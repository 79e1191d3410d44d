#include "symbolizer/hotspot/code/scopes.h"

#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/reader/unsigned5.h"

bool scope_read(const uint8_t *scopes, size_t len, uint32_t bias, int32_t offset, struct scope *ret)
{
	struct cursor c;
	uint32_t bci;

	/* Offset 0 means "no scope". */
	if (offset <= 0 || (size_t)offset >= len)
		return false;
	c = cursor_make(scopes + offset, len - (size_t)offset);
	ret->sender = (int32_t)unsigned5_read(&c, bias);
	ret->method_index = unsigned5_read(&c, bias);
	bci = unsigned5_read(&c, bias);
	ret->bci = (int32_t)bci - 1;
	return !c.bad && ret->sender >= 0 && ret->sender < offset && bci <= 65536;
}

size_t code_scopes_at(const struct code *c, int major, int32_t scope_offset, struct code_scope *ret, size_t max)
{
	uint32_t bias = unsigned5_bias(major);
	struct scope s = {.sender = scope_offset};
	size_t n = 0;

	while (s.sender != 0 && n < max) {
		if (!scope_read(c->scopes, c->scopes_len, bias, s.sender, &s) || s.method_index > c->n_methods)
			return 0;
		ret[n].method_id = s.method_index ? c->methods[s.method_index - 1] : 0;
		ret[n++].bci = s.bci;
	}
	return n;
}
