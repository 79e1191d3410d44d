#ifndef JS_OUTPUT_PAGE_DATA_H
#define JS_OUTPUT_PAGE_DATA_H

#include <stdint.h>
#include <stdio.h>

struct named_profile;

/*
 * The data block of the page, one JSON object (page/data/profile.js reads it):
 *  meta      what was recorded
 *  kinds     names of the kinds, by number
 *  names     texts of frames as pairs: characters shared with the previous one, the rest
 *  variants  frames: name << 6 | kind << 2 | exactness
 *  labels    [pid, tid, thread name, state name] of samples
 *  rows      number of groups of samples in `stacks`
 *  weighted  weights are not proportional to counts
 *  stacks    numbers (page_pack.h); for each row: frames shared with the previous one, frames added,
 *            each of these as a variant, count, label if there are several, weight if weighted
 *  slices    only with time slices: their width ns, how many n, and counts, packed like stacks: for
 *            each row the number of entries, for each entry a slice from 1 on (0: none) and its samples
 * Frames are root first; inlined ones are frames like others. 0 or -ENOMEM; errors of the stream stick to it.
 */
int page_data_write(const struct named_profile *np, FILE *out);

/* How many time slices the page has; 0: none. */
uint32_t page_data_slices(const struct named_profile *np);

#endif
