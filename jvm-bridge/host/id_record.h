#ifndef JS_BRIDGE_ID_RECORD_H
#define JS_BRIDGE_ID_RECORD_H

#include "jvm-bridge/host/id.h"

/* The memory of ids. Records stay where they are; a record of no id has no magic. */
struct object_id *id_record_new(void); /* NULL: no memory */
void id_record_free(struct object_id *id);
void id_records_each(void (*f)(struct object_id *id, void *arg), void *arg); /* free ones, too */
void id_records_trim(void); /* gives memory back that holds no id */

#endif
