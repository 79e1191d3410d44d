#ifndef JS_PPROF_PPROF_NOTES_H
#define JS_PPROF_PPROF_NOTES_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct named_meta;

/*
 * Meta data for which pprof has no field, as comments that people can read (`go tool pprof
 * -comments`): "command: java -jar shop.jar", "lost: 12". There is one note for each number that is not 0 and each text that is
 * not empty.
 */
size_t pprof_notes_count(void);
bool pprof_note_add(struct buf *b, const struct named_meta *m, size_t i); /* false: there is none */

/* Parses a comment if it is one of these notes. *ret_text: where in *m a text belongs, or NULL; the
 * caller keeps the text, which begins at *ret_value, and sets it. */
bool pprof_note_parse(const char *comment, struct named_meta *m, const char ***ret_text, const char **ret_value);

#endif
