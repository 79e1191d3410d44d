#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbolizer/target/service_names.h"

#define TEXT(s) s, sizeof(s) - 1

static void rows(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *kept;
		size_t kept_len;
	} rows[] = {
		{TEXT(""), TEXT("")},
		{TEXT("PASSWORD=x\0"), TEXT("")},
		{TEXT("OTEL_SERVICE_NAME=shop\0"), TEXT("OTEL_SERVICE_NAME=shop\0")},
		{TEXT("A=b\0OTEL_SERVICE_NAME=shop\0PASSWORD=x\0"), TEXT("OTEL_SERVICE_NAME=shop\0")},
		{TEXT("OTEL_RESOURCE_ATTRIBUTES=a=b,c=d\0P=x\0OTEL_SERVICE_NAME=s\0"),
		 TEXT("OTEL_RESOURCE_ATTRIBUTES=a=b,c=d\0OTEL_SERVICE_NAME=s\0")},
		{TEXT("POD_NAME=shop-1\0POD_IP=x\0POD_NAMESPACE=prod\0"),
		 TEXT("POD_NAME=shop-1\0POD_NAMESPACE=prod\0")},
		/* not these variables */
		{TEXT("OTEL_SERVICE_NAMES=x\0XOTEL_SERVICE_NAME=x\0OTEL_SERVICE_NAME\0otel_service_name=x\0"),
		 TEXT("")},
		{TEXT("P=OTEL_SERVICE_NAME=x\0"), TEXT("")},
		/* without the last NUL, and with more of them */
		{TEXT("P=x\0OTEL_SERVICE_NAME=shop"), TEXT("OTEL_SERVICE_NAME=shop")},
		{TEXT("P=x"), TEXT("")},
		{TEXT("\0\0\0OTEL_SERVICE_NAME=\0\0"), TEXT("OTEL_SERVICE_NAME=\0")},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		/* of exactly this length, so that sanitizers see what is beyond */
		char *text = malloc(rows[i].len + !rows[i].len);

		memcpy(text, rows[i].text, rows[i].len);
		assert_int_equal(service_names_keep(text, rows[i].len), rows[i].kept_len);
		assert_memory_equal(text, rows[i].kept, rows[i].kept_len);
		for (size_t k = rows[i].kept_len; k < rows[i].len; k++)
			assert_int_equal(text[k], 0);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(rows)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
