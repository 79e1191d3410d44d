/* A small library with one of everything that symbol and line look-up meets. */
int getpid(void);
int sample_sum;
int sample_entry(int n);
int sample_alias(int n) __attribute__((alias("sample_entry"), weak));

static inline __attribute__((always_inline)) int inlined_inner(int n)
{
	sample_sum += n; /* line 9 */
	return n * 3;
}

static inline __attribute__((always_inline)) int inlined_outer(int n)
{
	return inlined_inner(n + 1) + 1; /* line 15 */
}

static __attribute__((noinline)) int hidden_work(int n)
{
	return inlined_outer(n) ^ 5; /* line 20 */
}

int sample_entry(int n)
{
	return hidden_work(n) + sample_sum + getpid(); /* through the PLT */
}

__asm__(".pushsection .text_asm,\"ax\",@progbits\n"
	".globl asm_unsized\n"
	"asm_unsized:\n"
	"	nop\n"
	"	nop\n"
	"local_label:\n"
	"	nop\n"
	".globl asm_next\n"
	"asm_next:\n"
	"	ret\n"
	".popsection\n");
