#ifndef TEST_ATTRIBUTION_DUMP_H
#define TEST_ATTRIBUTION_DUMP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbolizer/attribution/env.h"

/*
 * Real compiled code, written by tests/integration/attribution_agree --dump (attribution_dump.h has
 * the format).
 */
struct dump_role {
	uint64_t target;
	enum blob_role role;
};

struct dump {
	struct code code;
	struct dump_role *roles;
	uint32_t n_roles;
	struct attribution_env env;
};

struct dump_reader {
	const uint8_t *p, *end;
};

static inline uint32_t dump_word(struct dump_reader *r)
{
	uint32_t v;

	assert_true(r->end - r->p >= 4);
	memcpy(&v, r->p, 4);
	r->p += 4;
	return v;
}

static inline uint8_t *dump_bytes(struct dump_reader *r, uint32_t *ret_n)
{
	uint8_t *copy;

	*ret_n = dump_word(r);
	assert_true((size_t)(r->end - r->p) >= *ret_n);
	copy = malloc(*ret_n + 1);
	assert_non_null(copy);
	memcpy(copy, r->p, *ret_n);
	r->p += *ret_n;
	return copy;
}

static inline enum blob_role dump_role_of(void *ctx, uint64_t target)
{
	struct dump *d = ctx;

	for (uint32_t i = 0; i < d->n_roles; i++)
		if (d->roles[i].target == target)
			return d->roles[i].role;
	return ROLE_NONE;
}

static inline void dump_head(struct dump_reader *r, struct dump *d)
{
	assert_int_equal(dump_word(r), 0x314d4e4a);
	d->code = (struct code){.id = 1, .kind = BLOB_NMETHOD, .begin = 0x7f0000000000};
	d->env = (struct attribution_env){.ctx = d, .role = dump_role_of};
	d->env.major = (int)dump_word(r);
	d->code.method_id = dump_word(r);
	d->code.tier = (int8_t)dump_word(r);
	d->code.osr_bci = (int32_t)dump_word(r);
	d->code.entry = dump_word(r);
	d->code.verified_entry = dump_word(r);
	d->code.osr_entry = (int32_t)dump_word(r);
	d->code.deopt_handler = (int32_t)dump_word(r);
	d->code.deopt_mh_handler = (int32_t)dump_word(r);
	d->code.exception_handler = (int32_t)dump_word(r);
	d->code.stub_begin = (int32_t)dump_word(r);
}

static inline void dump_arrays(struct dump_reader *r, struct dump *d)
{
	struct code *c = &d->code;
	struct code_record *records;
	struct code_pair *checks;
	uint32_t *words;

	c->n_records = dump_word(r);
	c->records = records = calloc(c->n_records + 1, sizeof(*records));
	for (uint32_t i = 0; i < c->n_records; i++) {
		records[i].pc_offset = (int32_t)dump_word(r);
		records[i].scope_offset = (int32_t)dump_word(r);
		records[i].safepoint = dump_word(r);
	}
	c->n_null_checks = dump_word(r);
	c->null_checks = checks = calloc(c->n_null_checks + 1, sizeof(*checks));
	for (uint32_t i = 0; i < c->n_null_checks; i++) {
		checks[i].from = dump_word(r);
		checks[i].to = dump_word(r);
	}
	c->n_handlers = dump_word(r);
	c->handlers = words = calloc(c->n_handlers + 1, sizeof(*words));
	for (uint32_t i = 0; i < c->n_handlers; i++)
		words[i] = dump_word(r);
	c->n_methods = dump_word(r);
	c->methods = words = calloc(c->n_methods + 1, sizeof(*words));
	for (uint32_t i = 0; i < c->n_methods; i++)
		words[i] = dump_word(r);
	d->n_roles = dump_word(r);
	d->roles = calloc(d->n_roles + 1, sizeof(*d->roles));
	for (uint32_t i = 0; i < d->n_roles; i++) {
		d->roles[i].target = c->begin + (uint64_t)(int64_t)(int32_t)dump_word(r);
		d->roles[i].role = (enum blob_role)dump_word(r);
	}
}

static inline void dump_load(const char *path, struct dump *d)
{
	static uint8_t file[1 << 21];
	FILE *f = fopen(path, "rb");
	struct dump_reader r = {.p = file};

	assert_non_null(f);
	r.end = file + fread(file, 1, sizeof(file), f);
	fclose(f);
	dump_head(&r, d);
	dump_arrays(&r, d);
	d->code.scopes = dump_bytes(&r, &d->code.scopes_len);
	d->code.bytes = dump_bytes(&r, &d->code.n_bytes);
	d->code.end = d->code.begin + d->code.n_bytes;
}

static inline void dump_done(struct dump *d)
{
	free((void *)d->code.records);
	free((void *)d->code.null_checks);
	free((void *)d->code.handlers);
	free((void *)d->code.methods);
	free((void *)d->code.scopes);
	free((void *)d->code.bytes);
	free(d->roles);
}

#endif
