#ifndef TEST_ATTRIBUTION_DUMP_H
#define TEST_ATTRIBUTION_DUMP_H

#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/code/roles.h"

/*
 * A struct code in a file, for the unit tests: 32-bit words, little-endian. DUMP_MAGIC, JDK, method id,
 * tier, OSR bci, the offsets entry, verified_entry, osr_entry, deopt_handler, deopt_mh_handler,
 * exception_handler, stub_begin; then arrays, each with its count in front: records (pc_offset,
 * scope_offset, safepoint), null checks (from, to), handlers, method ids, roles of call targets
 * (target - begin, role), and with their count in bytes: scopes, code.
 */
enum { DUMP_MAGIC = 0x314d4e4a };

int dump_code(const char *path, int major, const struct code *c, enum blob_role (*role)(void *ctx, uint64_t target),
	      void *ctx);

#endif
