#include "sampler/store/stacks/pack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"

enum { QUICK = 3, SMALL = 6 }; /* levels; 3 is the default */

struct pack {
	ZSTD_CCtx *to; /* NULL: not needed at present */
	ZSTD_DCtx *from;
};

struct pack *pack_new(void)
{
	struct pack *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->from = ZSTD_createDCtx();
	if (p->from)
		return p;
	free(p);
	return NULL;
}

void pack_free(struct pack *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->to);
	ZSTD_freeDCtx(p->from);
	free(p);
}

void pack_rest(struct pack *p)
{
	ZSTD_freeCCtx(take_ptr(p->to));
}

static bool begin_adding(struct pack *p)
{
	if (p->to)
		return true;
	p->to = ZSTD_createCCtx();
	if (p->to && !ZSTD_isError(ZSTD_CCtx_setParameter(p->to, ZSTD_c_checksumFlag, 1)))
		return true;
	pack_rest(p);
	return false;
}

int pack_add(struct pack *p, const struct buf *plain, bool small, struct buf *ret)
{
	size_t bound = ZSTD_compressBound(plain->len), n;
	CLEANUP(free_at_exit) char *frame = malloc(bound);

	if (!frame || plain->failed || !begin_adding(p))
		return -ENOMEM;
	ZSTD_CCtx_setParameter(p->to, ZSTD_c_compressionLevel, small ? SMALL : QUICK);
	n = ZSTD_compress2(p->to, frame, bound, plain->data, plain->len);
	if (ZSTD_isError(n))
		return -ENOMEM;
	buf_add(ret, frame, n);
	return ret->failed ? -ENOMEM : 0;
}

int pack_extract(struct pack *p, const void *frame, size_t len, size_t max, struct buf *ret)
{
	unsigned long long size = ZSTD_getFrameContentSize(frame, len);
	char *plain;

	/* The two error values are larger than any limit. */
	if (size > max)
		return -EBADMSG;
	plain = buf_extend(ret, size);
	if (!plain)
		return -ENOMEM;
	if (ZSTD_decompressDCtx(p->from, plain, size, frame, len) == size)
		return 0;
	buf_cut(ret, ret->len - size);
	return -EBADMSG;
}
