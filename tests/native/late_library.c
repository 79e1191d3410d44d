/* For odd_target late-dlopen, and with OTHER_NAMES what an upgrade puts in its place. */
#ifdef OTHER_NAMES
#define late_spin upgraded_spin
#define late_inner wrong_inner
#endif

void late_spin(void);

static volatile unsigned long late_sum;

__attribute__((noinline)) static void late_inner(void)
{
	for (;;)
		late_sum++;
}

void late_spin(void)
{
	late_inner();
	late_sum = 0; /* no tail call */
}
