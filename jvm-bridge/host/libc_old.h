#ifndef JS_BRIDGE_LIBC_OLD_H
#define JS_BRIDGE_LIBC_OLD_H

/*
 * The versions of symbols that every glibc since 2.17 has: the default ones of the build host are of 2.34, when
 * libdl and libpthread became part of libc. In an older glibc they are found in those libraries, which
 * every JVM has loaded. musl has the names without versions.
 */
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
__asm__(".symver dlclose,dlclose@GLIBC_2.2.5");
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");

#endif
