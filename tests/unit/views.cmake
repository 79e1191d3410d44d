js_unit_test(views_frames js_views js_input)
js_unit_test(views_pattern js_views js_profile)
js_unit_test(views_table js_views)
js_unit_test(views_timeline js_views js_profile)
