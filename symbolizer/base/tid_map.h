#ifndef JS_BASE_TID_MAP_H
#define JS_BASE_TID_MAP_H

#include <stddef.h>
#include <sys/types.h>

/* What is known of threads, by thread id: entries of one size, which stay where they are. Owned by one thread. */
struct tid_map {
	size_t size; /* of an entry; to be set */
	struct tid_node *nodes; /* to be NULL */
};

/* NULL: there is none. */
void *tid_map_find(const struct tid_map *m, pid_t tid);
/* The same, or a new one, all zero. NULL: out of memory. */
void *tid_map_get(struct tid_map *m, pid_t tid);
pid_t tid_map_tid(const void *entry);
size_t tid_map_count(const struct tid_map *m);
/* The entry after this one, in the order in which they were made; of NULL the first. NULL: that was the last. */
void *tid_map_next(const struct tid_map *m, const void *entry);
void tid_map_drop(struct tid_map *m, void *entry);
/* Drops all. */
void tid_map_clear(struct tid_map *m);

#endif
