#ifndef JS_PEER_WIRE_READ_H
#define JS_PEER_WIRE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/cursor.h"

/*
 * Reading of the bridge's records (jvm-bridge/stream/wire.h). The bytes come from a process that may be
 * hostile: nothing is taken for true that was not checked here.
 */
struct wire_record {
	uint32_t size; /* of the whole record */
	uint16_t type, flags;
	uint64_t time;
	struct cursor body;
};

/* Bytes that the record takes; 0: not all of it is there yet; -EPROTO: no record. */
int wire_take(const void *p, size_t len, struct wire_record *ret);

struct wire_str {
	const char *p; /* not NUL-terminated; NULL: none */
	uint16_t len;
};
struct wire_str wire_str(struct cursor *c); /* sets c->bad beyond the end, or for a NUL inside */

struct wire_hello {
	uint16_t major, minor;
	uint32_t pid;
	uint64_t monotonic_ns, realtime_ns;
	struct wire_str version;
};
/* -EPROTO: no hello; -ENOTSUP: of another major version (ret->major, minor are set). */
int wire_hello(const struct wire_record *r, struct wire_hello *ret);

#endif
