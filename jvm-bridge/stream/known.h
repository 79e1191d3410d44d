#ifndef JS_BRIDGE_KNOWN_H
#define JS_BRIDGE_KNOWN_H

#include <stdbool.h>

/*
 * The method ids that were named on this connection. Without locks. When it is full ids stay unknown, and
 * their methods are named again each time: more bytes, nothing wrong.
 */
struct known {
	void *_Atomic *slots;
	_Atomic unsigned n;
};

bool known_init(struct known *k);
void known_add(struct known *k, void *id);
bool known_has(const struct known *k, void *id);
void known_reset(struct known *k); /* with nobody else in it */

#endif
