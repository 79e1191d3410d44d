#ifndef JS_HOTSPOT_HS_VIRTUAL_H
#define JS_HOTSPOT_HS_VIRTUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot;

/*
 * The name of the virtual thread whose Continuation is at that address of the Java heap, as UTF-8, or "#31" by its
 * id if it has none. false: unknown; the collector may have moved it, or it does not belong to a virtual thread.
 */
bool hs_virtual_thread_name(struct hotspot *hs, uint64_t continuation, char *buf, size_t size);

/* Where a ContinuationEntry has the address of the Continuation (JDK 21 to 28; no table has it). */
enum { HS_ENTRY_CONTINUATION = 16 };

#endif
