#include "jvm-bridge/host/dumps/dump_space.h"

#include <sys/mman.h>

bool dump_space_open(struct dump_space *s, size_t bytes)
{
	size_t roots = bytes / 8;

	s->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->base == MAP_FAILED) {
		*s = (struct dump_space){0};
		return false;
	}
	s->limit = s->base + bytes;
	s->begin = s->end = s->base + roots;
	return true;
}

void dump_space_done(struct dump_space *s)
{
	if (s->base)
		munmap(s->base, (size_t)(s->limit - s->base));
	*s = (struct dump_space){0};
}

char *dump_behind(struct dump_space *s, size_t n)
{
	char *p = s->end;

	if ((size_t)(s->limit - p) < n)
		return NULL;
	s->end += n;
	return p;
}

char *dump_before(struct dump_space *s, size_t n)
{
	if ((size_t)(s->begin - s->base) < n)
		return NULL;
	return s->begin -= n;
}
