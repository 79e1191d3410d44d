/* The JVM's table of fields by name, far from the first page (tests/unit/test_readers.c). */
extern const void *gHotSpotVMStructs;
extern char far_away[1 << 16];

char far_away[1 << 16] = {1};
const void *gHotSpotVMStructs = far_away;
