js_unit_test(diff_t_distribution js_diff)
js_unit_test(diff_gate js_diff)
js_unit_test(diff js_diff js_profile)
