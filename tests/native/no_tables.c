/* Built as libjvm.so: a JVM that is no HotSpot; and with -DSVM a program that looks like a native image,
 * with -DSVM_HEAP as one that is stripped. */
#ifdef SVM
#include <stdio.h>
#ifdef SVM_HEAP
__attribute__((section(".svm_heap"), used)) static int heap[] = {1};
#else
extern const char __svm_version_info[];
const char __svm_version_info[] = "GraalVM CE 21.0.2+13.1";
#endif
/* As much code as the smallest of these programs have. */
__asm__(".text; .fill 2 << 20, 1, 0x90");
#endif

void late_spin(void);

static volatile unsigned long other_vm_sum;

__attribute__((noinline)) static void other_vm_interpreter(void)
{
	for (;;)
		other_vm_sum++;
}

void late_spin(void)
{
	other_vm_interpreter();
	other_vm_sum = 0; /* no tail call */
}

#ifdef SVM
int main(void)
{
	puts("ready");
	fflush(stdout);
	late_spin();
}
#endif
