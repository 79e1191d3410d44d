#ifndef JS_ATTRIBUTION_EXACTNESS_H
#define JS_ATTRIBUTION_EXACTNESS_H

/* How the method of a frame in compiled code was determined, most certain first. */
enum exactness {
	EXACT, /* by a trustworthy record at this very pc */
	EXACT_FLOW, /* the evidence before and after it agrees */
	EXACT_INFERRED, /* the only callee to which the code can belong */
	EXACT_APPROXIMATE, /* by the nearest evidence, or the address rule */
	EXACTNESS_COUNT
};

#endif
