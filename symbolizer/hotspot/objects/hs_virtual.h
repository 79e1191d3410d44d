#ifndef JS_HOTSPOT_HS_VIRTUAL_H
#define JS_HOTSPOT_HS_VIRTUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot;

/*
 * Gets the name of the virtual thread whose Continuation is at that address of the Java heap, as UTF-8, or "#31" from
 * its id if it has no name. false: unknown; the collector may have moved the Continuation, or it does not belong to a
 * virtual thread.
 */
bool hs_virtual_thread_name(struct hotspot *hs, uint64_t continuation, char *buf, size_t size);

/* The offset of the Continuation's address in a ContinuationEntry (JDK 21 to 28; no table has it). */
enum { HS_ENTRY_CONTINUATION = 16 };

#endif
