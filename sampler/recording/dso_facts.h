#ifndef JS_RECORDING_DSO_FACTS_H
#define JS_RECORDING_DSO_FACTS_H

#include "symbolizer/native/dso_record.h"

struct buf;

/* Facts about DSOs, each collected once while samples are walked and named. */
struct dso_facts;

struct dso_facts *dso_facts_new(void);
void dso_facts_free(struct dso_facts *f);
const struct dso_tap *dso_facts_tap(struct dso_facts *f);
void dso_facts_put(const struct dso_facts *f, struct buf *b); /* one DSO section each */

#endif
