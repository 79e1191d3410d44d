#include "sampler/readers/readers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sampler/recording/recording_writer.h"
#include "symbolizer/attribution/attribution.h"
#include "symbolizer/attribution/cache.h"
#include "symbolizer/base/budget.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/hotspot/forget.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/native/dso.h"
#include "symbolizer/native/modules/modmap.h"
#include "symbolizer/native/modules/shared_dsos.h"
#include "symbolizer/native/names/demangled.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/mem_live.h"
#include "symbolizer/target/proc.h"
#include "symbolizer/target/target_file.h"

/* Attempts to read a JVM that has just started, at least 4 ms apart (STARTING_NS in session_sample.c). */
enum { DOUBTS_MAX = 50 };
#define DOUBTS_NS UINT64_C(5000000000) /* or longer, where its loader hardly gets a CPU */

/* Of processes that are read together. */
enum { GRAPHS_BYTES = 8 << 20 };
#define UNUSED_NS UINT64_C(60000000000)

void readers_close(struct readers *v)
{
	if (!v)
		return;
	unwinder_free(v->unwinder);
	attribution_free(v->attribution);
	hotspot_close(v->hs);
	hotspot_close(v->starting);
	modmap_close(v->modmap);
	maps_close(v->maps);
	mem_free(v->mem);
	mem_free(v->live);
	free(v);
}

static void readers_close_at_exit(struct readers **v)
{
	readers_close(*v);
}

static int memory_open(struct proc *proc, struct mem **ret, struct err *err)
{
	int r = mem_live_open(proc, ret, err);

	if (r == 0)
		mem_live_limit(*ret, MEM_LIVE_COST_WALK);
	return r;
}

/* Everything but the memory, which is open already. */
static int open_readers(struct readers *v, struct proc *proc, struct unwinder_options o, struct budget *budget,
			struct err *err)
{
	int r = modmap_open(proc, v->maps, v->mem, budget, &v->modmap, err);

	v->budget = budget;
	if (r < 0)
		return r;
	v->unwinder = unwinder_new(v->modmap, NULL, v->mem, o);
	return v->unwinder ? 0 : err_set(err, -ENOMEM, "out of memory");
}

void readers_budget(struct budget *ret)
{
	budget_init(ret, READERS_BYTES, READERS_FILES_NS);
}

/* Puts a tap between the memory and its readers, if there is a `w` to note in. */
static int tap_into(struct readers *v, struct recording_writer *w, struct err *err)
{
	if (!w)
		return 0;
	v->live = v->mem;
	v->mem = mem_tap_new(v->live, recording_note, w);
	return v->mem ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int readers_open(struct proc *proc, struct unwinder_options o, struct budget *budget, struct recording_writer *w,
		 struct readers **ret, struct err *err)
{
	CLEANUP(readers_close_at_exit) struct readers *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	v->proc = proc;
	r = memory_open(proc, &v->mem, err);
	if (r == 0)
		r = tap_into(v, w, err);
	if (r == 0)
		r = maps_open(proc, budget, &v->maps, err);
	if (r == 0)
		r = open_readers(v, proc, o, budget, err);
	if (r < 0)
		return r;
	if (w)
		modmap_set_tap(v->modmap, recording_tap(w));
	*ret = take_ptr(v);
	return 0;
}

int readers_open_recording(const struct recording *rec, struct unwinder_options o, struct recording_writer *w,
			   struct readers **ret, struct err *err)
{
	CLEANUP(readers_close_at_exit) struct readers *v = calloc(1, sizeof(*v));
	size_t len;
	const char *text = recording_maps(rec, &len);
	int r;

	if (!v || !(v->mem = mem_pages_new()))
		return err_set(err, -ENOMEM, "out of memory");
	r = tap_into(v, w, err);
	if (r == 0 && (r = maps_parse(text, len, &v->maps)) < 0)
		err_set(err, r, "the recording's maps are malformed");
	if (r < 0)
		return r;
	r = open_readers(v, NULL, o, NULL, err);
	for (size_t i = 0; r == 0 && i < recording_dso_count(rec); i++) {
		const struct recording_dso *d = recording_dso(rec, i);

		r = modmap_add_record(v->modmap, d->path, &d->record);
		if (r < 0)
			r = err_set(err, r, "the recording's facts about '%s' are malformed", d->path);
	}
	if (r < 0)
		return r;
	if (w)
		modmap_set_tap(v->modmap, recording_tap(w));
	*ret = take_ptr(v);
	return 0;
}

struct readers_shared {
	struct shared_dsos *dsos;
	struct graph_cache *graphs;
	struct mem_live_pool *pages;
	struct unwinder_room *room;
	struct demangled *demangled;
};

struct readers_shared *readers_shared_new(void)
{
	struct readers_shared *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->dsos = shared_dsos_new(READERS_SHARED_BYTES, READERS_FILES_NS);
	s->graphs = graph_cache_new(GRAPHS_BYTES);
	s->pages = mem_live_pool_new();
	s->room = unwinder_room_new();
	s->demangled = demangled_new();
	if (s->dsos && s->graphs && s->pages && s->room && s->demangled)
		return s;
	readers_shared_free(s);
	return NULL;
}

void readers_shared_free(struct readers_shared *s)
{
	if (!s)
		return;
	shared_dsos_free(s->dsos);
	graph_cache_free(s->graphs);
	mem_live_pool_free(s->pages);
	unwinder_room_free(s->room);
	demangled_free(s->demangled);
	free(s);
}

void readers_share(struct readers *v, struct readers_shared *s)
{
	v->shared = s;
	modmap_share(v->modmap, s->dsos);
	mem_live_share(v->mem, s->pages);
	unwinder_share(v->unwinder, s->room);
}

struct demangled *readers_demangled(const struct readers *v)
{
	return v->shared ? v->shared->demangled : NULL;
}

struct libjvm {
	struct dso *dso;
	uint64_t bias;
	bool exported_only;
};

static bool libjvm_symbol(void *ctx, const char *name, uint64_t *ret)
{
	struct libjvm *l = ctx;
	uint64_t vaddr, size;

	if ((l->exported_only ? dso_find_exported : dso_find_variable)(l->dso, name, &vaddr, &size) < 0)
		return false;
	*ret = l->bias + vaddr;
	return true;
}

/* A target that ends takes its memory and files along: then it is nothing else that they lack. */
static enum jvm_state unsupported(struct readers *v, const char *why, const char *detail)
{
	if (v->proc && proc_gone(v->proc))
		return JVM_ABSENT;
	snprintf(v->why, sizeof(v->why), "%s%s", why, detail);
	log_warn("%s: Java code is not named, native frames only", v->why);
	return JVM_UNSUPPORTED;
}

/*
 * GraalVM's native images have neither libjvm.so nor its tables, but their heap in a section. Older ones export their version;
 * programs have no symbols if they are static and stripped.
 */
static bool is_native_image(struct readers *v)
{
	struct dso *exe = modmap_load_dso(v->modmap, 1);

	return exe && (dso_has_section(exe, ".svm_heap") || dso_has_variable(exe, "__svm_version_info"));
}

/* A deleted file can still be opened in map_files, with CAP_CHECKPOINT_RESTORE. */
static enum jvm_state no_file(struct readers *v, uint32_t id)
{
	return unsupported(v,
			   "cannot open the libjvm.so that the target runs (replaced by an upgrade? run "
			   "jsampler as root, or restart the target): ",
			   modmap_dso_path(v->modmap, id));
}

/* Of a young process, libjvm.so may still be mapped in part. It gets some more attempts before it is called wrong. */
static enum jvm_state unfit(struct readers *v, const char *why)
{
	uint64_t now = clock_monotonic_ns();

	if (!v->doubts++)
		v->doubted_ns = now;
	if (!v->young || (v->doubts > DOUBTS_MAX && now - v->doubted_ns > DOUBTS_NS))
		return unsupported(v, "cannot read this JVM: ", why);
	snprintf(v->why, sizeof(v->why), "cannot read this JVM: %s", why);
	return JVM_STARTING;
}

static enum jvm_state no_libjvm(struct readers *v)
{
	v->native_image = is_native_image(v);
	if (v->native_image)
		return unsupported(v, "the target is a GraalVM native image", "");
	v->young = true;
	return JVM_ABSENT;
}

static enum jvm_state open_hotspot(struct readers *v)
{
	struct libjvm l = {.exported_only = v->exported_only};
	struct err e = {0};
	char why[160];
	uint64_t addr;
	uint32_t id;
	int r = modmap_find_dso(v->modmap, "libjvm.so", &id, &l.bias);

	if (r == -EACCES)
		return no_file(v, id);
	if (target_file_why_far(r)) {
		snprintf(why, sizeof(why),
			 "the libjvm.so that the target runs is not read: a file %s: ", target_file_why_far(r));
		return unsupported(v, why, modmap_dso_path(v->modmap, id));
	}
	if (r < 0)
		return no_libjvm(v);
	l.dso = modmap_dso(v->modmap, id);
	if (!l.dso)
		return no_file(v, id);
	if (!libjvm_symbol(&l, "gHotSpotVMStructs", &addr))
		return unsupported(v,
				   "the target's libjvm.so has no HotSpot tables (OpenJ9, or stripped "
				   "of its dynamic symbols)",
				   "");
	r = hotspot_open(v->mem, libjvm_symbol, &l, &v->starting, &e);
	if (r == -EAGAIN)
		return JVM_STARTING;
	if (r < 0)
		return unfit(v, e.msg);
	v->hs = take_ptr(v->starting);
	hotspot_set_budget(v->hs, v->budget);
	return JVM_READY;
}

static void say_notes(struct hotspot *hs)
{
	const char *const *note = hotspot_notes(hs);

	for (; note && *note; note++)
		log_info("JVM: %s", *note);
}

void readers_keep_frame(struct hotspot *hs, const struct frame_key *k)
{
	if (k->kind == FRAME_COMPILED || k->kind == FRAME_STUB)
		hotspot_keep_code(hs, k->id);
	else if (k->kind == FRAME_INTERPRETED)
		hotspot_keep_method(hs, k->id);
}

void readers_say_doubts(const struct readers *v)
{
	if (v->jvm == JVM_STARTING && v->why[0])
		log_warn("%s: Java code is not named, native frames only", v->why);
}

bool readers_find_jvm(struct readers *v)
{
	if (v->jvm == JVM_READY || v->jvm == JVM_UNSUPPORTED)
		return false;
	mem_new_sample(v->mem);
	v->jvm = open_hotspot(v);
	if (v->jvm != JVM_READY)
		return false;
	v->attribution = attribution_new(v->hs, v->shared ? v->shared->graphs : NULL);
	if (!v->attribution) {
		hotspot_close(v->hs);
		v->hs = NULL;
		v->jvm = unsupported(v, "out of memory", "");
		return false;
	}
	if (v->shared)
		hotspot_forget_unused(v->hs, UNUSED_NS);
	log_info("JVM: HotSpot %s", hotspot_version(v->hs)->jdk);
	say_notes(v->hs);
	unwinder_set_hotspot(v->unwinder, v->hs);
	return true;
}
