#ifndef JS_BASE_STRTAB_H
#define JS_BASE_STRTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Interned strings: equal texts get equal ids. Id 0 is the empty string.
 * Texts are copied, NUL-terminated, and live as long as the table, or a table that borrows them. Not thread-safe.
 */
struct strtab;

struct strtab *strtab_new(void); /* NULL: out of memory */
void strtab_free(struct strtab *t);

/* UINT32_MAX: out of memory. `s` need not be NUL-terminated; bytes after a NUL are dropped. */
uint32_t strtab_add(struct strtab *t, const char *s, size_t len);
uint32_t strtab_add_z(struct strtab *t, const char *s);
/*
 * Adds a text of another table, which both have in memory from then on: all texts of that one stay until the last table
 * that borrows any is freed. It is copied if they are of more than STRTAB_LENDERS. All these tables belong to one thread.
 */
enum { STRTAB_LENDERS = 4 };
uint32_t strtab_borrow(struct strtab *t, struct strtab *lender, uint32_t id);
uint32_t strtab_find(struct strtab *t, const char *s, size_t len); /* UINT32_MAX: it is not there */
/* Frees what only finding and adding need, until they, or strtab_ready(), make it again. */
void strtab_rest(struct strtab *t);
bool strtab_ready(struct strtab *t); /* false: out of memory; nothing is found, and nothing can be added */
const char *strtab_get(const struct strtab *t, uint32_t id);
uint32_t strtab_count(const struct strtab *t);
size_t strtab_bytes(const struct strtab *t); /* memory held, without what is borrowed */

#endif
