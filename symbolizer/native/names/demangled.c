#include "symbolizer/native/names/demangled.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/map.h"
#include "symbolizer/native/names/demangle.h"

enum { BYTES_MAX = 1 << 20 };

struct name {
	UT_hash_handle hh;
	const char *readable; /* behind the key */
	char mangled[];
};

/* Names last for days, so they are not scattered over memory that was only needed for a while. */
struct demangled {
	struct name *names; /* in the arena */
	struct arena arena;
	size_t bytes; /* of the names */
};

struct demangled *demangled_new(void)
{
	return calloc(1, sizeof(struct demangled));
}

static void forget_all(struct demangled *d)
{
	HASH_CLEAR(hh, d->names);
	arena_done(&d->arena);
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
	added = arena_alloc(&d->arena, size);
	if (!added)
		return;
	memcpy(added->mangled, mangled, len);
	added->readable = strcpy(added->mangled + len + 1, readable);
	d->bytes += size;
	HASH_ADD_KEYPTR(hh, d->names, added->mangled, len, added);
}
