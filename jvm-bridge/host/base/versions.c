#include "jvm-bridge/host/base/versions.h"

#include <stdint.h>
#include <stdlib.h>

#include "jvm-bridge/base/futex.h"

enum { BUCKETS = 4096 };

struct version {
	struct version *next;
	jmethodID method;
	const void *addr;
};

static struct lock lock;
static struct version *buckets[BUCKETS];

static struct version **bucket_of(jmethodID method)
{
	return &buckets[((uint64_t)(uintptr_t)method * 0x9e3779b97f4a7c15u) >> 52];
}

static struct version **find(jmethodID method, const void *addr)
{
	struct version **at = bucket_of(method);

	while (*at && ((*at)->method != method || (*at)->addr != addr))
		at = &(*at)->next;
	return at;
}

void versions_add(jmethodID method, const void *addr)
{
	struct version *one = malloc(sizeof(*one)), **at;

	if (!one)
		return;
	lock_take(&lock);
	at = find(method, addr);
	if (!*at) {
		*one = (struct version){NULL, method, addr};
		*at = one;
		one = NULL;
	}
	lock_drop(&lock);
	free(one);
}

bool versions_drop(jmethodID method, const void *addr)
{
	struct version *gone, **at;
	bool last = true;

	lock_take(&lock);
	at = find(method, addr);
	gone = *at;
	if (gone)
		*at = gone->next;
	for (struct version *v = *bucket_of(method); v && last; v = v->next)
		last = v->method != method;
	lock_drop(&lock);
	free(gone);
	return last;
}

void versions_clear(void)
{
	struct version *v;

	lock_take(&lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		while ((v = buckets[i])) {
			buckets[i] = v->next;
			free(v);
		}
	lock_drop(&lock);
}
