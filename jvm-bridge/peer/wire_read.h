#ifndef JS_PEER_WIRE_READ_H
#define JS_PEER_WIRE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/cursor.h"

/*
 * Reads the bridge's records (jvm-bridge/stream/wire.h). The bytes come from a process that may be hostile:
 * everything is checked here before it is used.
 */
struct wire_record {
	uint32_t size; /* the whole record */
	uint16_t type, flags;
	uint64_t time;
	struct cursor body;
};

/* Bytes that the record takes; 0: incomplete; -EPROTO: not a record. */
int wire_take(const void *p, size_t len, struct wire_record *ret);

struct wire_str {
	const char *p; /* not NUL-terminated; NULL: none */
	uint16_t len;
};
struct wire_str wire_str(struct cursor *c); /* sets c->bad if it is cut off or contains a NUL */

struct wire_hello {
	uint16_t major, minor;
	uint32_t pid;
	uint64_t monotonic_ns, realtime_ns;
	struct wire_str version;
};
/* -EPROTO: not a hello; -ENOTSUP: another major version (ret->major and minor are set). */
int wire_hello(const struct wire_record *r, struct wire_hello *ret);

#endif
