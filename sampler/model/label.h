#ifndef JS_MODEL_LABEL_H
#define JS_MODEL_LABEL_H

/* What a target is called in one respect: "service" is "shop". */
struct label {
	const char *key, *value;
};

#endif
