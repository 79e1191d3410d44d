#ifndef JS_MODEL_LABEL_H
#define JS_MODEL_LABEL_H

/* One name of a target: "service" is "shop". */
struct label {
	const char *key, *value;
};

#endif
