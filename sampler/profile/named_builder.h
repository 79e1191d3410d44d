#ifndef JS_PROFILE_NAMED_BUILDER_H
#define JS_PROFILE_NAMED_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/model/named_profile.h"

/*
 * Builds a named profile; equal functions, locations, mappings and stacks are merged. Every function returns
 * UINT32_MAX when out of memory (named_builder_take() then returns NULL), and for ids that this builder did not
 * return (the call then does nothing). NULL texts are "".
 */
struct named_builder;

struct named_builder *named_builder_new(void);
void named_builder_free(struct named_builder *b);

uint32_t named_builder_string(struct named_builder *b, const char *s);
/* Borrowed; lives as long as the result. "" for an unknown id. */
const char *named_builder_text(const struct named_builder *b, uint32_t string);
uint32_t named_builder_function(struct named_builder *b, const char *name, const char *system_name, const char *file);
/*
 * Notes how a method was compiled. Of two notes for a function, each number keeps the more informative value (the
 * earlier time, the larger count), and the first sentence is kept.
 */
void named_builder_compile(struct named_builder *b, uint32_t function, const struct named_compile *c);
uint32_t named_builder_mapping(struct named_builder *b, const char *file, const char *build_id);
uint32_t named_builder_location(struct named_builder *b, uint32_t mapping, uint64_t address,
				const struct named_line *lines, uint32_t n);
uint32_t named_builder_lines(const struct named_builder *b, uint32_t location); /* number of lines; 0: unknown id */
/* The innermost `n` lines of a location, as a location of its own. */
uint32_t named_builder_innermost(struct named_builder *b, uint32_t location, uint32_t n);
/* locations: leaf first. */
uint32_t named_builder_stack(struct named_builder *b, const uint32_t *locations, uint32_t n);
/* Samples that differ only in count and weight are added up. */
uint32_t named_builder_sample(struct named_builder *b, const struct named_sample *s);
/*
 * Adds another profile (merging). Of its meta data, only slice_ns matters: time slices are kept if the builder has
 * the same width, otherwise dropped. 0 or -ENOMEM.
 */
int named_builder_add(struct named_builder *b, const struct named_profile *np);
size_t named_builder_bytes(const struct named_builder *b); /* memory held */
struct named_meta *named_builder_meta(struct named_builder *b);
/* A copy of `s` that lives as long as the result, for the meta's strings. */
const char *named_builder_keep(struct named_builder *b, const char *s);
/* Replaces the builder's meta data by that of another profile. */
void named_builder_copy_meta(struct named_builder *b, const struct named_meta *m);
/* Adds another profile's counts of samples. Times and units are left to the caller. */
void named_meta_add_counts(struct named_meta *sum, const struct named_meta *m);

/* Removes the process from the root of every stack, if there is only one process. */
void named_profile_drop_process_root(struct named_profile *np);

/*
 * Returns the finished profile, which the caller frees, and frees the builder. NULL: out of memory.
 */
struct named_profile *named_builder_take(struct named_builder *b);
void named_profile_free(struct named_profile *np);

#endif
