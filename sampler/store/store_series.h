#ifndef JS_STORE_STORE_SERIES_H
#define JS_STORE_STORE_SERIES_H

#include "sampler/store/store.h"

/* *ret is freed by store_series_free(). -EINVAL: more than STORE_CELLS_MAX cells. No samples: no rows. */
int store_view_series(struct store_view *v, const struct store_series_query *q, struct store_series **ret,
		      struct err *err);

#endif
