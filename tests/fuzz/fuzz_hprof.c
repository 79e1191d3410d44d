/* HPROF's text: anybody's. */
#include "round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	round_trip(data, size, "java.hprof.txt");
	return 0;
}
