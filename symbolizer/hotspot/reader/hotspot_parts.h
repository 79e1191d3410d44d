#ifndef JS_HOTSPOT_HOTSPOT_PARTS_H
#define JS_HOTSPOT_HOTSPOT_PARTS_H

/*
 * What a struct hotspot consists of. Each part's struct is known in its own folder only; others call its functions.
 * Parts borrow those that they are built on, in this order.
 */
struct hotspot {
	struct jvm *jvm; /* the reader */
	struct java_objects *objects; /* of the Java heap */
	struct thread_list *threads;
	struct copies *copies; /* memory of the next two */
	struct method_table *methods;
	struct code_cache *cache;
	struct walk_check *check; /* consistency of a walk */
};

#endif
