#ifndef JS_BASE_LOG_LIMIT_H
#define JS_BASE_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How many messages a program that runs for months may log, since targets can cause some. Without log_limit_set() there is no
 * limit. Messages of all levels count.
 */
enum log_limit_place { LOG_LIMIT_OWN, LOG_LIMIT_SHARED, LOG_LIMIT_PLACES };

/*
 * At most `burst` messages at once, and one more per interval_ns. To be called while there is only one thread. 0 or
 * -ENOMEM.
 */
int log_limit_set(uint32_t burst, uint64_t interval_ns);
/* In a forked process: from now on it shares one limit with all other processes that called this. */
void log_limit_share(void);

/* Counts a message. false: it is to be left out. */
bool log_limit_allows(void);
/* How many messages were left out since the last call; 0, too, if the limit does not allow logging this now. */
uint64_t log_limit_left_out(enum log_limit_place place);
enum log_limit_place log_limit_place(void); /* of this process */

#endif
