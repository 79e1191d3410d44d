#ifndef JS_HOTSPOT_HOTSPOT_PARTS_H
#define JS_HOTSPOT_HOTSPOT_PARTS_H

/* The parts of a struct hotspot. Each may use the parts above it in this list, but not those below it. */
struct hotspot {
	struct jvm *jvm; /* the reader */
	struct java_objects *objects; /* of the Java heap */
	struct thread_list *threads;
	struct copies *copies; /* memory for the two members after it */
	struct method_table *methods;
	struct code_cache *cache;
	struct walk_check *check; /* consistency of a walk */
};

#endif
