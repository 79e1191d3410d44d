#include "symbolizer/hotspot/objects/hs_frozen.h"

#include <stdlib.h>

#include "symbolizer/hotspot/objects/frozen_copy.h"
#include "symbolizer/hotspot/objects/hs_virtual.h"
#include "symbolizer/hotspot/objects/java_objects.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"

/*
 * The path is JavaThread::_cont_entry -> ContinuationEntry::_cont -> Continuation.tail -> StackChunk.parent -> ... The
 * collector may move chunks meanwhile, and give their old place to others. So each must refer back to its Continuation,
 * and the whole path is read again at the end.
 */
enum {
	PARENTS_MAX = 64, /* including empty ones: a program can make a chunk the parent of any chunk, even of itself */
	LEARN_MAX = 1000, /* continuations to try for learning the layout; after that, one of LEARN_SELDOM */
	LEARN_SELDOM = 64,
	NAMES = 4, /* classes known to be continuations */
	STACK_ALIGN = 7, /* the low bits of a layout helper are flags */
};

struct hs_frozen {
	struct jvm jvm; /* private, with its own view of the memory */
	bool tried, known;
	unsigned layout_tries; /* continuations tried so far */
	uint64_t cont_klass[NAMES], chunk_klass;
	int32_t tail; /* in a Continuation */
	int32_t parent, size, sp, bottom, argsize, cont; /* in a StackChunk */
	uint64_t words; /* offset of the stack in a chunk */
};

/* State that must not change while frames are copied. */
struct frozen_state {
	uint64_t entry, cont, tail;
	size_t n; /* chunks */
	struct frozen_link {
		uint64_t chunk;
		struct frozen_head head;
	} chain[PARENTS_MAX]; /* from the innermost to the one without a parent */
};

struct hs_frozen *hs_frozen_new(struct hotspot *hs, struct mem *mem)
{
	struct hs_frozen *f = calloc(1, sizeof(*f));

	if (f)
		jvm_view(&f->jvm, hs->jvm, mem);
	return f;
}

void hs_frozen_free(struct hs_frozen *f)
{
	if (!f)
		return;
	jvm_done(&f->jvm);
	free(f);
}

bool hs_frozen_hopeless(const struct hs_frozen *f)
{
	return f->tried && !f->known;
}

static bool is_continuation(struct hs_frozen *f, uint64_t klass)
{
	for (int i = 0; klass && i < NAMES; i++)
		if (f->cont_klass[i] == klass)
			return true;
	if (!klass_find_super(&f->jvm, klass, "jdk/internal/vm/Continuation"))
		return false;
	memmove(f->cont_klass + 1, f->cont_klass, sizeof(f->cont_klass) - sizeof(f->cont_klass[0]));
	f->cont_klass[0] = klass;
	return true;
}

static int32_t chunk_field(struct hs_frozen *f, const char *name, const char *sig)
{
	return klass_field_offset(&f->jvm, f->chunk_klass, name, sig);
}

/*
 * Learns the layout from the first continuation with a chunk; one without shows nothing, and where a collector has just moved
 * one there may be anything. Sets `tried` if the JVM has other fields. Classes of the boot loader are never unloaded.
 */
static bool learn(struct hs_frozen *f, uint64_t cont)
{
	uint64_t klass = klass_find_super(&f->jvm, oop_klass(&f->jvm, cont), "jdk/internal/vm/Continuation"), chunk;
	uint64_t helper;

	if (!klass)
		return false;
	f->tail = klass_field_offset(&f->jvm, klass, "tail", "Ljdk/internal/vm/StackChunk;");
	f->tried = f->tail < 0;
	if (f->tried || !oop_load(&f->jvm, cont + (uint64_t)f->tail, &chunk))
		return false;
	f->chunk_klass = oop_klass(&f->jvm, chunk);
	if (!f->chunk_klass || !klass_name_is(&f->jvm, f->chunk_klass, "jdk/internal/vm/StackChunk") ||
	    !jvm_get(&f->jvm, f->chunk_klass, f->jvm.l.klass_layout_helper, &helper))
		return false;
	f->tried = true;
	f->words = (helper & UINT32_MAX) & ~(uint64_t)STACK_ALIGN;
	f->parent = chunk_field(f, "parent", "Ljdk/internal/vm/StackChunk;");
	f->size = chunk_field(f, "size", "I");
	f->sp = chunk_field(f, "sp", "I");
	f->bottom = chunk_field(f, "bottom", "I");
	f->argsize = chunk_field(f, "argsize", "I"); /* without `bottom`, it is size - argsize */
	f->cont = klass_injected_offset(&f->jvm, f->chunk_klass, "cont");
	return f->known = f->cont > 0 && f->parent > 0 && f->size > 0 && f->sp > 0 &&
			  (f->bottom > 0 || f->argsize > 0) && f->words >= 16 && f->words <= 256;
}

/* Is the thread in Java or native code? Otherwise it may be moving frames into or out of chunks. */
static bool is_settled(struct hs_frozen *f, uint64_t java_thread)
{
	const struct hs_layout *l = &f->jvm.l;
	uint64_t state;

	return jvm_get(&f->jvm, java_thread, l->jt_state, &state) &&
	       ((l->c.thread_in_java.ok && state == (uint64_t)l->c.thread_in_java.value) ||
		(l->c.thread_in_native.ok && state == (uint64_t)l->c.thread_in_native.value));
}

static bool is_thread(struct hs_frozen *f, uint64_t java_thread, int32_t ns_tid)
{
	const struct hs_layout *l = &f->jvm.l;
	uint64_t os, tid;

	return jvm_get(&f->jvm, java_thread, l->jt_osthread, &os) && object_ok(os) &&
	       jvm_get(&f->jvm, os, l->os_tid, &tid) && (int32_t)tid == ns_tid;
}

static bool head_read(struct hs_frozen *f, uint64_t chunk, uint64_t cont, struct frozen_head *ret)
{
	uint64_t owner;
	uint32_t v = 0;

	*ret = (struct frozen_head){0};
	if (oop_klass(&f->jvm, chunk) != f->chunk_klass || !oop_load(&f->jvm, chunk + (uint64_t)f->cont, &owner) ||
	    owner != cont || !mem_read_u32(f->jvm.mem, chunk + (uint64_t)f->size, &ret->size) ||
	    !mem_read_u32(f->jvm.mem, chunk + (uint64_t)f->sp, &ret->sp) ||
	    !mem_read_u32(f->jvm.mem, chunk + (uint64_t)(f->bottom > 0 ? f->bottom : f->argsize), &v))
		return false;
	ret->bottom = f->bottom > 0 ? v : ret->size - v;
	return ret->size <= FROZEN_WORDS_MAX && ret->bottom <= ret->size && ret->sp <= ret->size;
}

/* The outermost frame shows whether a chunk without a parent is the last. */
static bool chain_read(struct hs_frozen *f, struct frozen_state *s)
{
	uint64_t chunk = s->tail;
	bool more = true;

	while (more && s->n < PARENTS_MAX) {
		struct frozen_link *l = &s->chain[s->n++];

		l->chunk = chunk;
		if (!head_read(f, chunk, s->cont, &l->head))
			return false;
		more = oop_load(&f->jvm, chunk + (uint64_t)f->parent, &chunk);
	}
	return !more;
}

static bool state_read(struct hs_frozen *f, uint64_t java_thread, struct frozen_state *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!is_settled(f, java_thread) || !jvm_get(&f->jvm, java_thread, f->jvm.l.jt_cont_entry, &ret->entry) ||
	    !object_ok(ret->entry) || !mem_read_u64(f->jvm.mem, ret->entry + HS_ENTRY_CONTINUATION, &ret->cont) ||
	    !object_ok(ret->cont) || !is_continuation(f, oop_klass(&f->jvm, ret->cont)))
		return false;
	if (!f->known && !f->tried && (++f->layout_tries <= LEARN_MAX || f->layout_tries % LEARN_SELDOM == 0))
		learn(f, ret->cont);
	return f->known && oop_load(&f->jvm, ret->cont + (uint64_t)f->tail, &ret->tail) && chain_read(f, ret);
}

/* Returns the bytes written; 0: the frames could not be read. */
static size_t chunk_copy(struct hs_frozen *f, const struct frozen_link *l, uint8_t *dst, size_t max)
{
	const struct frozen_head *h = &l->head;
	uint64_t from;
	size_t n;

	if (h->sp < CHUNK_BELOW)
		return 0;
	n = 8 * (size_t)(h->size - h->sp + CHUNK_BELOW);
	from = l->chunk + f->words + 8 * (uint64_t)(h->sp - CHUNK_BELOW);
	if (max < sizeof(*h) || max - sizeof(*h) < n || !jvm_read_fresh(&f->jvm, from, dst + sizeof(*h), (uint32_t)n))
		return 0;
	memcpy(dst, h, sizeof(*h));
	return sizeof(*h) + n;
}

static size_t chunks_copy(struct hs_frozen *f, const struct frozen_state *s, uint8_t *dst, size_t max)
{
	size_t len = FROZEN_ENTRY;

	memcpy(dst, &s->entry, FROZEN_ENTRY);
	for (size_t i = 0; i < s->n; i++) {
		const struct frozen_link *l = &s->chain[i];
		size_t got;

		if (l->head.sp >= l->head.bottom) /* empty */
			continue;
		got = chunk_copy(f, l, dst + len, max - len);
		if (!got)
			return 0;
		len += got;
	}
	return len > FROZEN_ENTRY ? len : 0;
}

size_t hs_frozen_copy(struct hs_frozen *f, uint64_t java_thread, int32_t ns_tid, uint8_t *dst, size_t max)
{
	struct frozen_state before, behind;
	size_t len;

	mem_new_sample(f->jvm.mem);
	if (max < FROZEN_ENTRY || hs_frozen_hopeless(f) || !heap_mode_read(&f->jvm) ||
	    !is_thread(f, java_thread, ns_tid) || !state_read(f, java_thread, &before))
		return 0;
	len = chunks_copy(f, &before, dst, max);
	mem_new_sample(f->jvm.mem);
	return len && state_read(f, java_thread, &behind) && !memcmp(&before, &behind, sizeof(before)) ? len : 0;
}
