#ifndef JS_BASE_TID_MAP_H
#define JS_BASE_TID_MAP_H

#include <stddef.h>
#include <sys/types.h>

/* Entries of a fixed size by thread id. They do not move. One thread owns the map. */
struct tid_map {
	size_t size; /* of an entry; set it before use */
	struct tid_node *nodes; /* initialise to NULL */
};

/* NULL: there is none. */
void *tid_map_find(const struct tid_map *m, pid_t tid);
/* The entry, or a new one, zeroed. NULL: out of memory. */
void *tid_map_get(struct tid_map *m, pid_t tid);
pid_t tid_map_tid(const void *entry);
size_t tid_map_count(const struct tid_map *m);
/* The entry after this one in order of creation; after NULL, the first. NULL: there are no more. */
void *tid_map_next(const struct tid_map *m, const void *entry);
void tid_map_drop(struct tid_map *m, void *entry);
void tid_map_clear(struct tid_map *m);

#endif
