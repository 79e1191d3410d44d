#ifndef JS_BRIDGE_KNOWN_H
#define JS_BRIDGE_KNOWN_H

#include <stdbool.h>

/*
 * The method ids that were already sent with their names on this connection. Lock-free. When it is full, further ids
 * stay unknown and their methods are sent each time: more bytes, but correct.
 */
struct known {
	void *_Atomic *slots;
	_Atomic unsigned n;
};

bool known_init(struct known *k);
void known_add(struct known *k, void *id);
bool known_has(const struct known *k, void *id);
void known_reset(struct known *k); /* no other thread may be using it */

#endif
