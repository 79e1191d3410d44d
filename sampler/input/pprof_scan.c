#include "sampler/input/pprof_scan.h"

#include <errno.h>

enum { VARINT_MAX = 10 }; /* bytes */

bool pprof_scan_varint(struct pprof_scan *s, uint64_t *ret)
{
	uint64_t v = 0;

	for (int i = 0; i < VARINT_MAX && s->p + i < s->end; i++) {
		v |= (uint64_t)(s->p[i] & 0x7f) << (7 * i);
		if (s->p[i] & 0x80)
			continue;
		s->p += i + 1;
		*ret = v;
		return true;
	}
	return false;
}

static bool take_bytes(struct pprof_scan *s, uint64_t len, struct pprof_field *ret)
{
	if (len > (uint64_t)(s->end - s->p))
		return false;
	ret->bytes = s->p;
	ret->len = len;
	s->p += len;
	return true;
}

int pprof_scan_next(struct pprof_scan *s, struct pprof_field *ret)
{
	const uint8_t *start = s->p;
	uint64_t tag, len;
	bool ok;

	if (s->p == s->end)
		return 0;
	*ret = (struct pprof_field){0};
	ok = pprof_scan_varint(s, &tag) && tag >> 3 && tag >> 3 < 1u << 29;
	ret->number = ok ? tag >> 3 : 0;
	switch (ok ? tag & 7 : 7) {
	case 0: ok = pprof_scan_varint(s, &ret->value); break;
	case 1: ok = take_bytes(s, 8, ret); break;
	case 2: ok = pprof_scan_varint(s, &len) && take_bytes(s, len, ret); break;
	case 5: ok = take_bytes(s, 4, ret); break;
	default: /* groups are obsolete */ ok = false;
	}
	if (!ok)
		s->p = start;
	return ok ? 1 : -EINVAL;
}
