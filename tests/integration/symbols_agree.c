/*
 * Names the compiled frames of one recording twice, as --symbols vm and as --symbols bridge do, and prints what
 * differs, by its reason, and each method's share by both:
 *
 *     symbols_agree PID SECONDS HZ
 *
 *     samples 4321
 *     frames sampled|called equal|line|REASON COUNT
 *     inlined COUNT
 *     example REASON COUNT vm: A < B | bridge: C < B
 *     method SELF_VM SELF_BRIDGE SURE_VM SURE_BRIDGE NAME(SIGNATURE)
 *
 * "sampled" frames were executing, "called" ones wait at a return address. Counts are samples. A method is sure where it is the
 * compiled one, and where it is inlined and the JVM has a record of the pc: of other places each source has its own opinion.
 * "inlined" frames are of the second kind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "sampler/resolve/namer.h"
#include "sampler/session/bridge/gone_code.h"
#include "sampler/session/session_private.h"
#include "symbolizer/attribution/exactness.h"
#include "symbolizer/base/err.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/methods/method.h"

enum { VM, BRIDGE, SOURCES, MAX_METHODS = 1 << 16, MAX_EXAMPLES = 12 };

/* Why names may differ, and where they may not: WRONG ones. */
enum verdict {
	EQUAL,
	LINE, /* the same methods; another bci, which the JVM does not tell for this place, or no line */
	ANONYMOUS, /* equal but for the hash that JDK 8 to 14 print behind the name of a VM anonymous class */
	UNTOLD, /* the bridge did not tell of this code: it is named by the JVM's memory both times */
	BETWEEN, /* no record at this pc: the flow of control there, the next record in address order here */
	POLL, /* executing a poll: its record is its own; by the stream's ranges it ends in front of it */
	LEAF_CALL, /* a return address without a record: a call of a stub, which needs none */
	WRONG_METHOD, /* another compiled method */
	WRONG_CHAIN, /* other methods, though the JVM has a record of this very pc */
	WRONG_LINE, /* another line there */
	VERDICTS
};

static const char *const verdict_names[] = {"equal", "line",      "anonymous",    "untold",      "between-records",
					    "poll",  "leaf-call", "WRONG-METHOD", "WRONG-CHAIN", "WRONG-LINE"};

struct frame {
	uint64_t leaf, any; /* samples where it is the innermost frame of the process's own, where it is anywhere */
	uint32_t location[SOURCES];
	bool told;
};

struct method {
	uint64_t self[SOURCES], sure[SOURCES];
};

struct agree {
	struct session *s;
	const struct profile *p;
	struct named_builder *b;
	struct frame *frames; /* by frame number */
	struct named_profile *np;
	struct method *methods; /* by string of name and signature */
	uint64_t counts[2][VERDICTS], samples, inlined;
	unsigned examples[VERDICTS];
};

static const struct code *nmethod_of(const struct agree *a, const struct frame_key *k)
{
	const struct code *c = k->kind == FRAME_COMPILED && k->id ? hs_code(a->s->readers->hs, k->id) : NULL;

	return c && c->kind == BLOB_NMETHOD && !c->gone && c->method_id ? c : NULL;
}

static bool is_kernel(const struct frame_key *k)
{
	return k->kind == FRAME_KERNEL || (k->kind == FRAME_MARK && k->off == MARK_KERNEL);
}

static void count_frames(struct agree *a)
{
	for (size_t i = 0; i < profile_sample_count(a->p); i++) {
		struct profile_sample s = profile_sample(a->p, i);
		struct stack_cursor c = profile_stack(a->p, s.stack);
		bool leaf = true;
		uint32_t f;

		while (profile_next(&c, &f)) {
			a->frames[f].any += s.count;
			if (!leaf || is_kernel(profile_frame(a->p, f)))
				continue;
			a->frames[f].leaf += s.count;
			leaf = false;
		}
		a->samples += s.count;
	}
}

/* As session_name_view() does it, for one source of names. */
static void name_frames(struct agree *a, int source)
{
	struct readers *v = a->s->readers;
	struct resolver_sources sources = {.maps = v->modmap,
					   .hs = v->hs,
					   .attribution = v->attribution,
					   .timeline = bridge_lock(a->s->bridge),
					   .timeline_code = gone_code_code,
					   .timeline_ctx = a->s->gone_code};
	const struct resolver_options o = {
		.show = {.raw_names = true, .lines = true, .bridge_symbols = source == BRIDGE}};
	struct namer n = {.s = &sources, .o = &o, .b = a->b};

	if (sources.timeline)
		bridge_unlock(a->s->bridge);
	for (size_t i = 0; i < profile_frame_count(a->p); i++) {
		const struct frame_key *k = profile_frame(a->p, (uint32_t)i);
		const struct code *c = nmethod_of(a, k);

		if (!c)
			continue;
		a->frames[i].location[source] = namer_compiled(&n, k).location;
		a->frames[i].told = gone_code_code(a->s->gone_code, c) != NULL;
	}
	buf_done(&n.name);
	buf_done(&n.system);
}

static const struct named_location *location_of(const struct agree *a, size_t frame, int source)
{
	return &a->np->locations[a->frames[frame].location[source]];
}

/* Name and signature; strings of a profile are equal when their ids are. */
static uint32_t method_at(const struct agree *a, const struct named_location *l, uint32_t i)
{
	return a->np->functions[a->np->lines[l->first_line + i].function].system_name;
}

/* "A$B/1701808001.m()V" as told is "A$B.m()V" in memory. */
static bool is_same_but_hash(const char *vm, const char *told)
{
	size_t n = 0;

	while (vm[n] && vm[n] == told[n])
		n++;
	if (vm[n] != '.' || told[n] != '/')
		return false;
	told += n + 1;
	told += strspn(told, "0123456789abcdefx");
	return strcmp(vm + n, told) == 0;
}

static bool is_same(const struct agree *a, uint32_t vm, uint32_t told, bool *hash)
{
	bool but_hash = vm != told && is_same_but_hash(named_string(a->np, vm), named_string(a->np, told));

	*hash |= but_hash;
	return vm == told || but_hash;
}

static bool has_record(const struct code *c, int64_t pc)
{
	for (uint32_t i = 0; i < c->n_records; i++)
		if (c->records[i].pc_offset == pc)
			return true;
	return false;
}

/* What differs at a frame whose place the JVM's records tell, or do not. */
static enum verdict differs(const struct agree *a, size_t frame, bool sampled, bool exact, enum verdict what)
{
	const struct frame_key *k = profile_frame(a->p, (uint32_t)frame);

	if (!exact)
		return what == WRONG_LINE ? LINE : sampled ? BETWEEN : LEAF_CALL;
	return sampled && has_record(nmethod_of(a, k), k->off) ? POLL : what;
}

static enum verdict judge(const struct agree *a, size_t frame, bool sampled)
{
	const struct named_location *vm = location_of(a, frame, VM), *told = location_of(a, frame, BRIDGE);
	const struct named_line *v = &a->np->lines[vm->first_line], *t = &a->np->lines[told->first_line];
	bool same = vm->n_lines == told->n_lines, lines = same, hash = false;

	if (!a->frames[frame].told)
		return UNTOLD;
	if (!is_same(a, method_at(a, vm, vm->n_lines - 1), method_at(a, told, told->n_lines - 1), &hash))
		return WRONG_METHOD;
	for (uint32_t i = 0; same && i < vm->n_lines; i++) {
		same = is_same(a, method_at(a, vm, i), method_at(a, told, i), &hash);
		lines = lines && v[i].line == t[i].line && v[i].bci == t[i].bci;
	}
	if (!same)
		return differs(a, frame, sampled, v->exactness == EXACT, WRONG_CHAIN);
	if (lines)
		return hash ? ANONYMOUS : EQUAL;
	return differs(a, frame, sampled, v->exactness == EXACT, WRONG_LINE);
}

static void print_chain(const struct agree *a, const struct named_location *l)
{
	for (uint32_t i = 0; i < l->n_lines; i++)
		printf("%s%s@%d:%d", i ? " < " : "", named_string(a->np, method_at(a, l, i)),
		       a->np->lines[l->first_line + i].bci, a->np->lines[l->first_line + i].line);
}

static void print_example(struct agree *a, size_t frame, enum verdict v, uint64_t count)
{
	const struct code *c = nmethod_of(a, profile_frame(a->p, (uint32_t)frame));

	if (v == EQUAL || v == UNTOLD || a->examples[v]++ >= MAX_EXAMPLES)
		return;
	printf("example %s %llu tier %d pc %lld vm: ", verdict_names[v], (unsigned long long)count, c->tier,
	       (long long)profile_frame(a->p, (uint32_t)frame)->off);
	print_chain(a, location_of(a, frame, VM));
	printf(" | bridge: ");
	print_chain(a, location_of(a, frame, BRIDGE));
	printf("\n");
}

/* Do both go by the JVM's record of this very pc? At a poll the stream's ranges do not. */
static bool is_at_record(const struct agree *a, size_t frame, bool sampled)
{
	const struct frame_key *k = profile_frame(a->p, (uint32_t)frame);

	return a->np->lines[location_of(a, frame, VM)->first_line].exactness == EXACT &&
	       !(sampled && has_record(nmethod_of(a, k), k->off));
}

static void add_methods(struct agree *a, size_t frame, int source, bool at_record)
{
	const struct named_location *l = location_of(a, frame, source);

	a->methods[method_at(a, l, 0)].self[source] += a->frames[frame].leaf;
	for (uint32_t i = at_record ? 0 : l->n_lines - 1; i < l->n_lines; i++)
		a->methods[method_at(a, l, i)].sure[source] += a->frames[frame].any;
}

static void compare(struct agree *a)
{
	for (size_t i = 0; i < profile_frame_count(a->p); i++) {
		const struct frame_key *k = profile_frame(a->p, (uint32_t)i);
		bool sampled = k->flags & FRAME_PC_EXACT, at_record;
		enum verdict v;

		if (!nmethod_of(a, k) || !a->frames[i].any)
			continue;
		v = judge(a, i, sampled);
		a->counts[!sampled][v] += a->frames[i].any;
		print_example(a, i, v, a->frames[i].any);
		at_record = is_at_record(a, i, sampled);
		if (at_record && a->frames[i].told && location_of(a, i, VM)->n_lines > 1)
			a->inlined += a->frames[i].any;
		add_methods(a, i, VM, at_record);
		add_methods(a, i, BRIDGE, at_record);
	}
}

static void print_result(const struct agree *a)
{
	printf("samples %llu\n", (unsigned long long)a->samples);
	for (int called = 0; called < 2; called++)
		for (int v = 0; v < VERDICTS; v++)
			printf("frames %s %s %llu\n", called ? "called" : "sampled", verdict_names[v],
			       (unsigned long long)a->counts[called][v]);
	printf("inlined %llu\n", (unsigned long long)a->inlined);
	for (uint32_t i = 0; i < MAX_METHODS; i++) {
		const struct method *m = &a->methods[i];

		if (m->self[VM] || m->self[BRIDGE] || m->sure[VM] || m->sure[BRIDGE])
			printf("method %llu %llu %llu %llu %s\n", (unsigned long long)m->self[VM],
			       (unsigned long long)m->self[BRIDGE], (unsigned long long)m->sure[VM],
			       (unsigned long long)m->sure[BRIDGE], named_string(a->np, i));
	}
}

static int agree(struct session *s)
{
	struct agree a = {.s = s, .p = s->profile, .b = named_builder_new()};

	if (!s->readers->hs || !s->gone_code || !a.b) {
		fprintf(stderr, "symbols_agree: no JVM, or the bridge told nothing\n");
		return 1;
	}
	a.frames = calloc(profile_frame_count(a.p) + 1, sizeof(*a.frames));
	a.methods = calloc(MAX_METHODS, sizeof(*a.methods));
	count_frames(&a);
	gone_code_finish(s->gone_code);
	name_frames(&a, VM);
	name_frames(&a, BRIDGE);
	a.np = named_builder_take(a.b);
	if (!a.np || !a.frames || !a.methods || strtab_count(a.np->strings) > MAX_METHODS) {
		fprintf(stderr, "symbols_agree: out of memory\n");
		return 1;
	}
	compare(&a);
	print_result(&a);
	named_profile_free(a.np);
	free(a.frames);
	free(a.methods);
	return 0;
}

int main(int argc, char **argv)
{
	struct session_options o = {.profile = {.threads = true}, .bridge = BRIDGE_ON, .show.lines = true};
	struct session *s = NULL;
	struct err err = {0};
	int r;

	if (argc != 4) {
		fprintf(stderr, "usage: symbols_agree PID SECONDS HZ\n");
		return 2;
	}
	o.engine_options = (struct engine_options){.event = "cpu", .period = (uint64_t)(1e9 / atof(argv[3]))};
	r = session_open(atoi(argv[1]), &o, &s, &err);
	if (r == 0)
		r = session_start(s, &err);
	if (r == 0)
		r = session_run(s, (uint64_t)(1e9 * atof(argv[2])), &err);
	if (r < 0)
		fprintf(stderr, "symbols_agree: %s\n", err.msg);
	r = r < 0 || agree(s);
	session_close(s);
	return r;
}
