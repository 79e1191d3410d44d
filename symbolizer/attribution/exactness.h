#ifndef JS_ATTRIBUTION_EXACTNESS_H
#define JS_ATTRIBUTION_EXACTNESS_H

/* How a frame of compiled code got its name, surest first. */
enum exactness {
	EXACT, /* a trustworthy record at this very pc */
	EXACT_FLOW, /* the evidence before and after agrees */
	EXACT_INFERRED, /* the one callee that could be there */
	EXACT_APPROXIMATE, /* nearest evidence, or the address rule */
	EXACTNESS_COUNT
};

#endif
