#ifndef JS_RESOLVE_JAVA_NAME_H
#define JS_RESOLVE_JAVA_NAME_H

struct buf;

/*
 * Class names without what changes from run to run (hotspot.md 4.2): addresses, counters and hashes
 * in the names of lambdas, method handle forms, reflection accessors, proxies and what byte code
 * libraries generate.
 *   Truth$$Lambda$14+0x00007f8905002000      Truth$$Lambda
 *   java/lang/invoke/LambdaForm$DMH+0x...    java/lang/invoke/LambdaForm$MH
 *   jdk/proxy2/$Proxy42                      jdk/proxy/$Proxy
 *   p/Foo$$EnhancerBySpringCGLIB$$1a2b3c4d   p/Foo$$EnhancerBySpringCGLIB
 * Any other name, digits and all, is added as it is. `name` has slashes, as in class files.
 */
void java_class_add(struct buf *b, const char *name);

#endif
