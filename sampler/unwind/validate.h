#ifndef JS_UNWIND_VALIDATE_H
#define JS_UNWIND_VALIDATE_H

#include <stdbool.h>
#include <stdint.h>

struct walker;
struct code;

/* Could `pc` be a return address into the code cache: after a call, or one that HotSpot itself pushes? */
bool is_java_return(struct walker *w, uint64_t pc);

/* Could compiled code return to `pc`? Not into native code, nor after a call that has no record. */
bool is_caller_of_java(struct walker *w, uint64_t pc);

/* Does `pc`, in `c`, have a record? Then it is a return address at which the frame is complete. */
bool is_recorded(struct walker *w, const struct code *c, uint64_t pc);

/* Is `pc` in compiled code? C1's unwinding handlers, which are in no table, are jumped to as well. */
bool is_method_pc(struct walker *w, uint64_t pc);

/* Could `pc` be a return address into a mapped file or other executable memory: after a call? */
bool is_native_return(struct walker *w, uint64_t pc);

bool is_return(struct walker *w, uint64_t pc); /* either */

/* Is `pc` the deoptimisation handler of compiled code? It replaces the return addresses of deoptimised frames. */
bool is_deopt_handler(const struct code *c, uint64_t pc);

#endif
