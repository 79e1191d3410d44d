#ifndef JS_HOTSPOT_CODE_METHODS_H
#define JS_HOTSPOT_CODE_METHODS_H

#include <stdbool.h>
#include <stdint.h>

struct code_cache;
struct code_entry;

/*
 * The methods in the scopes of an nmethod. Reading them is most of what it costs to see an nmethod for the first time,
 * and a third of them is in no stack that is sampled. So after hotspot_forget_unused() they are read when a stack needs
 * them. They outlive their nmethod: while that is there, their memory is valid.
 */

/*
 * While an nmethod is copied: its own method, and if others can wait, only those that a frame at pc needs. false: out of
 * memory.
 */
bool code_methods_copy(struct code_cache *cache, struct code_entry *e, uint64_t pc);

/*
 * What the frame of a call that returns to pc needs, or all. No method is taken if the nmethod is not there any more, or
 * copies_full(). false: there may be something to read the next time.
 */
bool code_methods_read_at(struct code_cache *cache, uint32_t code_id, uint64_t pc);
void code_methods_read_all(struct code_cache *cache, uint32_t code_id);

#endif
