#ifndef JS_INPUT_PPROF_H
#define JS_INPUT_PPROF_H

struct err;
struct named_builder;
struct source;

/*
 * Reads a pprof profile (an uncompressed message of sampler/pprof/profile.proto) into the builder. The default sample
 * type, otherwise the last one, is the weight, and the nearest one before it that counts samples is the count; if
 * there is only one, both are the same, or the count follows from the period. Other tools' profiles do not have kinds
 * of frames: these are guessed from mappings, files and names. 0, -ENOMEM, -EFBIG, or -EINVAL with the position.
 */
int pprof_read(struct source *s, struct named_builder *b, struct err *err);

#endif
