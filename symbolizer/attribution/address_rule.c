#include "symbolizer/attribution/address_rule.h"

#include "symbolizer/attribution/decode/decode.h"
#include "symbolizer/base/sorted.h"

/* The index of the first record with pc_offset > pc. */
static uint32_t records_above(const struct code *c, int64_t pc)
{
	return (uint32_t)first_above(c->records, c->n_records, pc_offset, pc);
}

bool record_trusted(const struct code *c, const struct code_record *r)
{
	return r->safepoint || (c->tier >= TIER_C1_SIMPLE && c->tier <= TIER_C1_FULL);
}

const struct code_record *record_at(const struct code *c, int64_t pc)
{
	uint32_t i = records_above(c, pc);

	while (i > 0 && c->records[i - 1].pc_offset == pc) {
		if (record_trusted(c, &c->records[i - 1]))
			return &c->records[i - 1];
		i--;
	}
	return NULL;
}

const struct code_record *record_after(const struct code *c, int64_t pc)
{
	for (uint32_t i = records_above(c, pc); i < c->n_records; i++)
		if (record_trusted(c, &c->records[i]))
			return &c->records[i];
	return NULL;
}

static const struct code_record *record_before(const struct code *c, int64_t pc)
{
	for (uint32_t i = records_above(c, pc); i > 0; i--)
		if (record_trusted(c, &c->records[i - 1]))
			return &c->records[i - 1];
	return NULL;
}

void root_scope(const struct code *c, int32_t bci, struct attributed *ret)
{
	ret->scope[0] = (struct code_scope){.method_id = c->method_id, .bci = bci};
	ret->n = 1;
}

void record_scopes(const struct code *c, int major, const struct code_record *r, struct attributed *ret)
{
	ret->n = code_scopes_at(c, major, r->scope_offset, ret->scope, CODE_MAX_SCOPES);
	if (ret->n == 0 || ret->n > CODE_MAX_SCOPES || ret->scope[ret->n - 1].method_id != c->method_id)
		root_scope(c, -1, ret);
}

/*
 * A record at a sampled pc belongs to it only if it is that of a poll: the record of a call has the offset of the next
 * instruction.
 */
static bool is_call_record(const struct code *c, int64_t pc)
{
	return pc > 0 && pc <= c->n_bytes && bytes_end_in_call(c->bytes, (uint32_t)pc);
}

void address_rule(const struct code *c, int major, int64_t pc, bool return_address, struct attributed *ret)
{
	const struct code_record *r = record_at(c, pc);

	if (r && (return_address || (r->safepoint && pc < c->n_bytes && !is_call_record(c, pc)))) {
		record_scopes(c, major, r, ret);
		ret->exactness = EXACT;
		return;
	}
	/* At the return address of a leaf call, attribute the call instruction before it. */
	r = record_after(c, return_address && pc > 0 ? pc - 1 : pc);
	if (!r)
		r = record_before(c, pc);
	if (r)
		record_scopes(c, major, r, ret);
	else
		root_scope(c, c->osr_bci >= 0 ? c->osr_bci : -1, ret);
	ret->exactness = EXACT_APPROXIMATE;
}
