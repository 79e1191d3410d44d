#ifndef JS_NATIVE_SUFFIX_H
#define JS_NATIVE_SUFFIX_H

/*
 * Cuts off, in place, the suffixes that gcc and LLVM append to names of functions that they split, clone or make
 * global: `.isra.0`, `.part.1`, `.constprop.0`, `.cold`, `.lto_priv.0`, `.llvm.1234`, ...
 */
void cut_suffix(char *name);

#endif
