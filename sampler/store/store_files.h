#ifndef JS_STORE_STORE_FILES_H
#define JS_STORE_STORE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/store/day/day.h"
#include "symbolizer/base/vec.h"

/* Files in a store's directory, by name only. */
struct store_file {
	struct day_id id;
	uint64_t bytes; /* on disk, including its log */
	bool aside; /* set aside: damaged, or of a newer version */
};

typedef VEC(struct store_file) store_file_list;

/* In the order of removal: those set aside first, then finer steps before wider ones, older days before newer ones. */
int store_files(const char *dir, store_file_list *ret);
/* 0 or -errno. */
int store_file_remove(const char *dir, const struct store_file *f);
/* Renames it out of the way, for later inspection; replaces a file of that name. 0 or -errno. */
int store_file_set_aside(const char *dir, struct day_id id);
/* Free space in percent of the file system; 100: unknown. */
unsigned store_free_percent(const char *dir);
/* Free bytes beyond that many percent of the file system; UINT64_MAX: unknown. */
uint64_t store_free_bytes(const char *dir, unsigned keep_percent);

#endif
