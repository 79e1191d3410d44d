#ifndef JS_HOTSPOT_HS_VIRTUAL_H
#define JS_HOTSPOT_HS_VIRTUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot;

/*
 * The virtual thread whose Continuation stands at that address of the Java heap. Its name, UTF-8, or "#31" by its
 * id where it has none. false: not to be had; the collector may have moved it, or it is no virtual thread's.
 */
bool hs_virtual_thread_name(struct hotspot *hs, uint64_t continuation, char *buf, size_t size);

/* In a ContinuationEntry: where the address of the Continuation stands (JDK 21 to 28; no table has it). */
enum { HS_ENTRY_CONTINUATION = 16 };

#endif
