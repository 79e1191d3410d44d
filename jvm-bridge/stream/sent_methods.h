#ifndef JS_BRIDGE_SENT_METHODS_H
#define JS_BRIDGE_SENT_METHODS_H

#include <stdbool.h>

/*
 * The method ids that were already sent with their names on this connection. Lock-free. When it is full, further ids
 * stay unknown and their methods are sent each time: more bytes, but correct.
 */
struct sent_methods {
	void *_Atomic *slots;
	_Atomic unsigned n;
};

bool sent_methods_init(struct sent_methods *k);
void sent_methods_add(struct sent_methods *k, void *id);
bool sent_methods_has(const struct sent_methods *k, void *id);
void sent_methods_reset(struct sent_methods *k); /* no other thread may be using it */

#endif
