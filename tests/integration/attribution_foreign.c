#include "tests/integration/attribution_foreign.h"

#include "symbolizer/attribution/decode/bytecodes.h"
#include "symbolizer/hotspot/methods/callee.h"
#include "symbolizer/hotspot/methods/method.h"

/* Are the outermost n frames of x those of this record, with the same bcis but for the innermost of them? */
static bool same_path(const struct attributed *x, size_t n, const struct code_scope *s, size_t n_scopes)
{
	if (n > n_scopes)
		return false;
	for (size_t i = 1; i <= n; i++) {
		const struct code_scope *a = &x->scope[x->n - i], *b = &s[n_scopes - i];

		if (a->method_id != b->method_id || (i < n && a->bci != b->bci))
			return false;
	}
	return true;
}

/* How many of the outermost frames some record has. */
static size_t known_frames(const struct code *code, int major, const struct attributed *x)
{
	struct code_scope s[CODE_MAX_SCOPES];
	size_t known = 0;

	for (uint32_t i = 0; i < code->n_records && known < x->n; i++) {
		size_t n;

		if (!code->records[i].safepoint)
			continue;
		n = code_scopes_at(code, major, code->records[i].scope_offset, s, CODE_MAX_SCOPES);
		while (known < x->n && same_path(x, known + 1, s, n))
			known++;
	}
	return known;
}

/* A callee that is not known for certain (an interface's, one not resolved) can be any. */
static bool calls(struct hotspot *hs, const struct code_scope *caller, uint32_t callee)
{
	const struct hs_method *m = hs_method(hs, caller->method_id);
	struct bytecode b;
	uint32_t known;

	if (!m || !bytecode_at(m, hotspot_version(hs)->major, caller->bci, &b) ||
	    (b.kind != BYTECODE_INVOKE && b.kind != BYTECODE_INVOKEDYNAMIC))
		return false;
	known = hs_callee_at(hs, caller->method_id, caller->bci);
	return known == 0 || known == callee;
}

bool names_foreign(struct hotspot *hs, const struct code *code, const struct attributed *x)
{
	size_t known = known_frames(code, hotspot_version(hs)->major, x);

	if (x->n == 0 || x->scope[x->n - 1].method_id != code->method_id)
		return true;
	for (size_t i = known ? known : 1; i < x->n; i++)
		if (!calls(hs, &x->scope[x->n - i], x->scope[x->n - i - 1].method_id))
			return true;
	return false;
}
