#ifndef JS_STORE_STORE_FILES_H
#define JS_STORE_STORE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/store/day.h"
#include "symbolizer/base/vec.h"

/* The files of a store's directory, by their names alone. */
struct store_file {
	struct day_id id;
	uint64_t bytes; /* on disk, with its log */
	bool aside; /* it was damaged, or of a newer version */
};

typedef VEC(struct store_file) store_file_list;

/* In the order in which they go: set aside before others, the finer step before the wider, the older day before the newer. */
int store_files(const char *dir, store_file_list *ret);
/* 0 or -errno. */
int store_file_remove(const char *dir, const struct store_file *f);
/* Renames it, so that it is out of the way and can still be looked at; one that has that name goes. 0 or -errno. */
int store_file_set_aside(const char *dir, struct day_id id);
/* Space that is free, in percent of the file system; 100: not known. */
unsigned store_free_percent(const char *dir);

#endif
