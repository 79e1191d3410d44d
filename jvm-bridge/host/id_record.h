#ifndef JS_BRIDGE_ID_RECORD_H
#define JS_BRIDGE_ID_RECORD_H

#include "jvm-bridge/host/id.h"

/* Memory of ids. Records never move; a free record has no magic. */
struct object_id *id_record_new(void); /* NULL: no memory */
void id_record_free(struct object_id *id);
void id_records_each(void (*f)(struct object_id *id, void *arg), void *arg); /* includes free ones */
void id_records_trim(void); /* returns memory that holds no id */

#endif
