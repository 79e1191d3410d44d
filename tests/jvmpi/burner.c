/* A thread that computes in native code and never comes back to Java, so that JVMTI does not stop it. */
#include <unistd.h>

#include "tests/jvmpi/check.h"

static struct {
	JNIEnv *_Atomic env;
	_Atomic bool stop;
	_Atomic unsigned long rounds;
} burner;

static void burn(void *arg)
{
	(void)arg;
	burner.env = env_here();
	for (unsigned long i = 0; !burner.stop; i++)
		burner.rounds += i % 4096 == 0;
	burner.env = NULL;
}

/* It ran: half a minute is time enough. */
static bool advances(void)
{
	unsigned long before = burner.rounds;

	for (int i = 0; i < 30000 && burner.rounds == before; i++)
		usleep(1000);
	return burner.rounds != before;
}

int burner_has_run(void)
{
	char name[] = "test burner";
	int r = -1;
	JNIEnv *env;

	burner.stop = false;
	if (jvmpi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY, burn) || !advances())
		return -1;
	env = burner.env;
	jvmpi->SuspendThread(env);
	jvmpi->ResumeThread(env);
	if (advances()) {
		jvmpi->SuspendThread(env);
		r = jvmpi->ThreadHasRun(env);
		jvmpi->ResumeThread(env);
	}
	burner.stop = true;
	for (int i = 0; i < 30000 && burner.env; i++)
		usleep(1000);
	return r;
}
