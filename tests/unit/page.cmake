# An independent reader of JSON.
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
js_unit_test(output_html js_output js_profile PkgConfig::JANSSON)
js_unit_test(output_text js_output js_profile)
