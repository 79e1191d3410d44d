#include "symbolizer/target/arch.h"

const struct arch *arch_host(void)
{
#if defined(__x86_64__)
	return &arch_x86_64;
#else
#error "no struct arch for this processor: see arch_x86_64.c"
#endif
}
