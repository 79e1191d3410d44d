js_unit_test(output_html js_output js_profile PkgConfig::JANSSON)
js_unit_test(output_text js_output js_profile)
