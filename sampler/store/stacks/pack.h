#ifndef JS_STACKS_PACK_H
#define JS_STACKS_PACK_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* zstd frames with checksums, so that any damage is noticed. One user at a time. */
struct pack;

struct pack *pack_new(void); /* NULL: out of memory */
void pack_free(struct pack *p);
/* Gives back the memory that compressing takes, 0.8 MB: the next pack_add() allocates it again. */
void pack_rest(struct pack *p);

/* Appends `plain`, compressed as one frame, to *ret; `small`: takes three times as long for some percent less. 0 or -ENOMEM. */
int pack_add(struct pack *p, const struct buf *plain, bool small, struct buf *ret);
/* Appends the frame's contents to *ret. -EBADMSG: damaged, or more than `max` bytes. */
int pack_extract(struct pack *p, const void *frame, size_t len, size_t max, struct buf *ret);

#endif
