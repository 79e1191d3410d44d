#ifndef JS_BRIDGE_RECORD_H
#define JS_BRIDGE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jvm-bridge/jvmpi/jvmpi.h"
#include "jvm-bridge/stream/wire.h"

/*
 * A record being built. Appending beyond WIRE_RECORD_MAX, or without memory, sets `full` and adds nothing.
 * Zero-initialise; release with record_done().
 */
struct record {
	unsigned char *data;
	size_t len, cap;
	bool full;
};

void record_begin(struct record *r, enum wire_type type, unsigned flags);
void record_u16(struct record *r, uint16_t v);
void record_u32(struct record *r, uint32_t v);
void record_u64(struct record *r, uint64_t v);
void record_str(struct record *r, const char *s); /* NULL becomes WIRE_NULL */
/* converts the form of Class.getName() to HotSpot's internal name */
void record_class_name(struct record *r, const char *s);
bool record_end(struct record *r); /* pads, sets the size; false: full */
void record_done(struct record *r);

/* One function per event; false: nothing to send, or no room. */
/* Addresses of the methods in the JVM; NULL or 0: unknown. */
bool record_class(struct record *r, const JVMPI_Event *e, const jlong *addresses, unsigned flags);
bool record_method(struct record *r, const JVMPI_Event *e, jlong address);
bool record_code(struct record *r, const JVMPI_Event *e, unsigned flags);
bool record_code_unload(struct record *r, const JVMPI_Event *e);
bool record_dynamic_code(struct record *r, const JVMPI_Event *e, unsigned flags);
bool record_thread(struct record *r, const JVMPI_Event *e, uint32_t tid, unsigned flags);
bool record_gc_pause(struct record *r, const JVMPI_Event *e);

bool record_hello(struct record *r, JNIEnv *env); /* asks the JVM for its version */

#endif
