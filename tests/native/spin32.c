/* A 32-bit process that needs no library. */
void _start(void);

__attribute__((noinline)) static void spin_in_32_bits(void)
{
	for (;;)
		__asm__ volatile("pause");
}

void _start(void)
{
	spin_in_32_bits();
}
