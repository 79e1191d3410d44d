#ifndef JS_BROKER_MAPS_CACHE_H
#define JS_BROKER_MAPS_CACHE_H

#include <stdbool.h>

struct broker;
struct broker_maps;
struct maps;
struct proc;

/*
 * Mappings of p in which `wanted` finds something: those that some thread read a moment ago, or else the current ones.
 * The caller releases *ret. -ENOENT: `wanted` finds nothing.
 */
int broker_maps_seek(struct broker *b, struct proc *p, bool (*wanted)(const struct maps *m, const void *arg),
		     const void *arg, struct broker_maps **ret);
const struct maps *broker_maps_of(const struct broker_maps *m);
void broker_maps_release(struct broker *b, struct broker_maps *m);
void broker_maps_forget(struct broker *b); /* at the end */

#endif
