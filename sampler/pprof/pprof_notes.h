#ifndef JS_PPROF_PPROF_NOTES_H
#define JS_PPROF_PPROF_NOTES_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct named_meta;

/*
 * The meta data that pprof has no field for, as comments a person can read (`go tool pprof
 * -comments`): "command: java -jar shop.jar", "lost: 12". One note a number or text that is not 0
 * or empty.
 */
size_t pprof_notes_count(void);
bool pprof_note_add(struct buf *b, const struct named_meta *m, size_t i); /* false: nothing to say */

/* Takes a comment over if it is one of these. *ret_text: the text's place in *m, or NULL; the
 * caller keeps the text (from *ret_value on) and sets it. */
bool pprof_note_parse(const char *comment, struct named_meta *m, const char ***ret_text,
		      const char **ret_value);

#endif
