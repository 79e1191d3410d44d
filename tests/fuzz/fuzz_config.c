/* jsampler.conf: the administrator's text, but whatever else is in the file, too. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/daemon/config/config.h"
#include "sampler/daemon/rules/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void note(void *ctx, const char *problem)
{
	*(size_t *)ctx += strlen(problem);
}

/* The values are as long as they claim to be, and each rule can be asked. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct label labels[] = {{"service", "shop-eu"}, {"user", "root"}, {"pod", ""}};
	size_t said = 0;
	struct config *c;
	char why[300];

	if (config_parse("f", (const char *)data, size, note, &said, &c) < 0) {
		if (!said)
			abort();
		return 0;
	}
	if (said || c->frequency < 5 || c->frequency > 1000 || c->cpu_limit > 1000000 || c->directory[0] != '/')
		abort();
	rules_choose(c->rules, labels, 3);
	for (size_t i = 0; i < rules_count(c->rules); i++)
		rules_idle(c->rules, i, why, sizeof(why));
	config_free(c);
	return 0;
}
