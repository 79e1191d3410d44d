#include "tests/integration/attribution_dump.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void put(FILE *f, int64_t v)
{
	uint32_t w = (uint32_t)v;

	fwrite(&w, sizeof(w), 1, f);
}

static void put_bytes(FILE *f, const uint8_t *p, uint32_t n)
{
	put(f, n);
	fwrite(p, 1, n, f);
}

/* Target of the direct call that ends at `end`, as an offset; false: no such call. */
static bool call_target(const struct code *c, int32_t end, int32_t *ret)
{
	int32_t rel;

	if (end < 5 || (uint32_t)end > c->n_bytes || c->bytes[end - 5] != 0xe8)
		return false;
	memcpy(&rel, c->bytes + end - 4, 4);
	*ret = (int32_t)((uint32_t)end + (uint32_t)rel);
	return true;
}

static void put_roles(FILE *f, const struct code *c, enum blob_role (*role)(void *ctx, uint64_t target), void *ctx)
{
	uint32_t n = 0;
	int32_t target;

	for (uint32_t i = 0; i < c->n_records; i++)
		n += call_target(c, c->records[i].pc_offset, &target);
	put(f, n);
	for (uint32_t i = 0; i < c->n_records; i++)
		if (call_target(c, c->records[i].pc_offset, &target)) {
			put(f, target);
			put(f, role(ctx, c->begin + (uint64_t)(int64_t)target));
		}
}

int dump_code(const char *path, int major, const struct code *c, enum blob_role (*role)(void *ctx, uint64_t target),
	      void *ctx)
{
	FILE *f = fopen(path, "wb");
	const int64_t head[] = {DUMP_MAGIC,           major,
				c->method_id,         c->tier,
				c->osr_bci,           c->entry,
				c->verified_entry,    c->osr_entry,
				c->deopt_handler,     c->deopt_mh_handler,
				c->exception_handler, c->stub_begin};

	if (!f)
		return -errno;
	for (size_t i = 0; i < sizeof(head) / sizeof(*head); i++)
		put(f, head[i]);
	put(f, c->n_records);
	for (uint32_t i = 0; i < c->n_records; i++) {
		put(f, c->records[i].pc_offset);
		put(f, c->records[i].scope_offset);
		put(f, c->records[i].safepoint);
	}
	put(f, c->n_null_checks);
	for (uint32_t i = 0; i < c->n_null_checks; i++) {
		put(f, c->null_checks[i].from);
		put(f, c->null_checks[i].to);
	}
	put(f, c->n_handlers);
	for (uint32_t i = 0; i < c->n_handlers; i++)
		put(f, c->handlers[i]);
	put(f, c->n_methods);
	for (uint32_t i = 0; i < c->n_methods; i++)
		put(f, c->methods[i]);
	put_roles(f, c, role, ctx);
	put_bytes(f, c->scopes, c->scopes_len);
	put_bytes(f, c->bytes, c->n_bytes);
	return fclose(f) ? -errno : 0;
}
