js_unit_test(diff_student js_diff)
js_unit_test(diff_gate js_diff)
js_unit_test(diff js_diff js_profile)
