#ifndef JS_INPUT_PPROF_H
#define JS_INPUT_PPROF_H

struct err;
struct named_builder;
struct source;

/*
 * A pprof profile (an unpacked message of sampler/pprof/profile.proto) into the builder. Counts and
 * weights: of the sample types the default one, else the last, is the weight, and the nearest one
 * before it that counts is the count; with a single type both are the same, or the count follows
 * from the period. What is not ours says nothing of kinds: they are guessed from mappings, files
 * and names. 0, -ENOMEM, -EFBIG, -EINVAL with the place.
 */
int pprof_read(struct source *s, struct named_builder *b, struct err *err);

#endif
