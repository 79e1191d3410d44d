#include "sampler/daemon/host/target.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/user_name.h"

static bool is_same_user(const struct scan_found *a, const struct scan_found *b)
{
	return a->in_namespace == b->in_namespace && (a->in_namespace || a->uid == b->uid);
}

/*
 * One user's processes must not use up the room for those of others. Root is exempt: its processes may be those of all
 * containers.
 */
static bool has_share(const struct targets *t, const struct scan_found *f)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += is_same_user(&t->list[i].who, f);
	return n >= TARGETS_OF_USER && (f->in_namespace || f->uid != 0);
}

bool targets_room(struct targets *t, const struct scan_found *f)
{
	char user[64];

	if (t->n == TARGETS_MAX) {
		if (!t->full)
			log_warn("there are more than %d JVMs: the others are not sampled", TARGETS_MAX);
		t->full = true;
		return false;
	}
	if (!has_share(t, f))
		return true;
	user_name(f->uid, user, sizeof(user));
	if (!t->full_of_user)
		log_warn("user %s has more than %d JVMs: the others are not sampled", user, TARGETS_OF_USER);
	t->full_of_user = true;
	return false;
}
