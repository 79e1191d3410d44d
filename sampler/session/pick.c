#include "sampler/session/pick.h"

#include <errno.h>
#include <string.h>

#include "sampler/model/walk.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/hotspot/code/code.h"

enum pick_kind {
	PICK_INTERPRETED,
	PICK_C1,
	PICK_C2,
	PICK_OSR,
	PICK_NATIVE,
	PICK_JNI,
	PICK_MH,
	PICK_STUB,
	PICK_VTABLE,
	PICK_ADAPTER,
	PICK_RUNTIME,
	PICK_DEOPT,
	PICK_DEOPTED,
	PICK_EXCEPTION,
	PICK_SAFEPOINT,
	PICK_CODELET,
	PICK_UPCALL,
	PICK_ENTRY,
	PICK_PROLOGUE,
	PICK_EPILOGUE,
	/* of the walk as a whole */
	PICK_DEEP,
	PICK_FROZEN,
	PICK_HEAP,
	PICK_BROKEN,
	PICK_PLAIN,
	PICK_KINDS
};

/* In the order above. */
static const char names[] = "interpreted c1 c2 osr native jni mh stub vtable adapter runtime deopt "
			    "deopted exception safepoint codelet upcall entry prologue epilogue deep "
			    "frozen heap broken plain";

/* More frames than fit in the usual stack copy. */
enum { DEEP_FRAMES = 500 };

const char *pick_names(void)
{
	return names;
}

int pick_parse(const char *text, struct pick *ret)
{
	const char *p = names;
	size_t len;

	ret->any = strncmp(text, "any:", 4) == 0;
	text += ret->any ? 4 : 0;
	for (unsigned kind = 0; kind < PICK_KINDS; kind++, p += len + 1) {
		len = strcspn(p, " ");
		if (len != strlen(text) || memcmp(p, text, len) != 0)
			continue;
		ret->kind = (uint8_t)kind;
		return 0;
	}
	return -EINVAL;
}

static bool blob_matches(enum pick_kind kind, const struct code *c)
{
	static const uint8_t blobs[PICK_KINDS] = {
		[PICK_JNI] = BLOB_NATIVE + 1,          [PICK_MH] = BLOB_MH_INTRINSIC + 1,
		[PICK_STUB] = BLOB_STUBS + 1,          [PICK_VTABLE] = BLOB_VTABLE + 1,
		[PICK_ADAPTER] = BLOB_ADAPTER + 1,     [PICK_RUNTIME] = BLOB_RUNTIME + 1,
		[PICK_DEOPT] = BLOB_DEOPT + 1,         [PICK_EXCEPTION] = BLOB_EXCEPTION + 1,
		[PICK_SAFEPOINT] = BLOB_SAFEPOINT + 1, [PICK_CODELET] = BLOB_INTERPRETER + 1,
		[PICK_UPCALL] = BLOB_UPCALL + 1,
	};

	return blobs[kind] && blobs[kind] == c->kind + 1;
}

/*
 * On x86-64 an epilogue is `add $n,%rsp; pop %rbp; [poll]; ret`. Two of these instructions are
 * recognised.
 */
static bool in_epilogue(const struct code *c, int64_t off)
{
	return off >= 0 && off < c->n_bytes && (c->bytes[off] == 0xc3 || c->bytes[off] == 0x5d);
}

static bool nmethod_matches(enum pick_kind kind, const struct code *c, const struct frame_key *k)
{
	bool exact = k->flags & FRAME_PC_EXACT;

	switch (kind) {
	case PICK_C1: return c->tier > TIER_INTERPRETER && c->tier < TIER_C2;
	case PICK_C2: return c->tier == TIER_C2;
	case PICK_OSR: return c->osr_bci != CODE_NO_OSR;
	case PICK_PROLOGUE: return exact && k->off < c->frame_complete;
	case PICK_EPILOGUE: return exact && in_epilogue(c, k->off);
	default: return false;
	}
}

static bool frame_matches(enum pick_kind kind, const struct frame_key *k, struct hotspot *hs)
{
	const struct code *c;

	if (kind == PICK_INTERPRETED)
		return k->kind == FRAME_INTERPRETED;
	if (kind == PICK_NATIVE)
		return k->kind == FRAME_NATIVE;
	if (kind == PICK_DEOPTED)
		return k->flags & FRAME_DEOPTED;
	if (!hs || (k->kind != FRAME_COMPILED && k->kind != FRAME_STUB))
		return false;
	c = hs_code(hs, k->id);
	if (!c)
		return false;
	if (kind == PICK_ENTRY)
		return strcmp(hs_stub_name(hs, c, (uint64_t)k->off), "call_stub") == 0;
	return c->kind == BLOB_NMETHOD ? nmethod_matches(kind, c, k) : blob_matches(kind, c);
}

static bool walk_matches(enum pick_kind kind, const struct walk *w)
{
	switch (kind) {
	case PICK_DEEP: return w->n > DEEP_FRAMES;
	case PICK_FROZEN: return w->frozen;
	case PICK_HEAP: return w->heap;
	case PICK_BROKEN: return w->end != WALK_ROOT || w->resynchronised;
	case PICK_PLAIN: return w->end == WALK_ROOT && !w->java;
	default: return false;
	}
}

static uint64_t frame_key_hash(const struct frame_key *k)
{
	return hash_mix(hash_mix(k->kind, k->id), (uint64_t)k->off);
}

bool pick_matches(const struct pick *p, const struct walk *w, struct hotspot *hs, uint64_t *ret_what)
{
	uint32_t i = 0;

	while (i < w->n && w->frames[i].kind == FRAME_KERNEL)
		i++;
	*ret_what = i < w->n ? frame_key_hash(&w->frames[i]) : 0;
	if (p->kind >= PICK_DEEP)
		return walk_matches(p->kind, w);
	for (; i < w->n; i++) {
		*ret_what = frame_key_hash(&w->frames[i]);
		if (frame_matches(p->kind, &w->frames[i], hs))
			return true;
		if (!p->any)
			break;
	}
	return false;
}
