#ifndef JS_BASE_STRTAB_H
#define JS_BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

/*
 * Interned strings: equal texts get equal ids. Id 0 is the empty string.
 * Texts are copied, NUL-terminated, and live as long as the table. Not thread-safe.
 */
struct strtab;

struct strtab *strtab_new(void); /* NULL: out of memory */
void strtab_free(struct strtab *t);

/* UINT32_MAX: out of memory. `s` need not be NUL-terminated; bytes after a NUL are dropped. */
uint32_t strtab_add(struct strtab *t, const char *s, size_t len);
uint32_t strtab_add_z(struct strtab *t, const char *s);
/*
 * Adds a text of another table without copying it: it stays until both are freed. Both belong to one thread, and neither
 * frees the other's texts earlier.
 */
uint32_t strtab_borrow(struct strtab *t, struct strtab *lender, uint32_t id);
uint32_t strtab_find(const struct strtab *t, const char *s, size_t len); /* UINT32_MAX: it is not there */
const char *strtab_get(const struct strtab *t, uint32_t id);
uint32_t strtab_count(const struct strtab *t);
size_t strtab_bytes(const struct strtab *t); /* memory held, without what is borrowed */

#endif
