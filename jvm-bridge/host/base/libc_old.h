#ifndef JS_BRIDGE_LIBC_OLD_H
#define JS_BRIDGE_LIBC_OLD_H

/*
 * Symbol versions that every glibc since 2.17 has. The build host's defaults are those of 2.34, when libdl and
 * libpthread became part of libc. An older glibc has these symbols in those two libraries, which every JVM has
 * loaded. musl exports the names without versions.
 */
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
__asm__(".symver dlclose,dlclose@GLIBC_2.2.5");
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");

#endif
