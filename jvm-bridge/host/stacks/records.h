#ifndef JS_BRIDGE_RECORDS_H
#define JS_BRIDGE_RECORDS_H

#include <stdint.h>

/*
 * The records of compiled code: which methods are inlined at a call or a poll. Instructions between these have none.
 * Only record_near() may be called in a signal handler, for code that the calling thread is executing.
 */
void records_init(void);
/* An address in the instruction whose record is the best guess for pc; pc itself if the next one in the code is. */
uint64_t record_near(uint64_t pc);

#endif
