#include "symbolizer/native/names/demangled.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/map.h"
#include "symbolizer/native/names/demangle.h"

enum { BYTES_MAX = 1 << 20 };

struct name {
	UT_hash_handle hh;
	const char *readable; /* behind the key */
	char mangled[];
};

struct demangled {
	struct name *names;
	size_t bytes; /* of their allocations */
};

struct demangled *demangled_new(void)
{
	return calloc(1, sizeof(struct demangled));
}

static void forget_all(struct demangled *d)
{
	map_free(d->names);
	d->bytes = 0;
}

void demangled_free(struct demangled *d)
{
	if (!d)
		return;
	forget_all(d);
	free(d);
}

const char *demangled_find(const struct demangled *d, const char *mangled)
{
	const struct name *found;

	HASH_FIND(hh, d->names, mangled, strlen(mangled), found);
	return found ? found->readable : NULL;
}

void demangled_add(struct demangled *d, const char *mangled, const char *readable)
{
	size_t len = strlen(mangled), size = sizeof(struct name) + len + 1 + strlen(readable) + 1;
	struct name *added;

	if (len >= DEMANGLE_MAX)
		return;
	if (d->bytes + size > BYTES_MAX)
		forget_all(d);
	added = calloc(1, size);
	if (!added)
		return;
	memcpy(added->mangled, mangled, len);
	added->readable = strcpy(added->mangled + len + 1, readable);
	HASH_ADD_KEYPTR(hh, d->names, added->mangled, len, added);
	if (added->hh.tbl)
		d->bytes += size;
	else
		free(added);
}
