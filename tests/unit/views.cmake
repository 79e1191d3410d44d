js_unit_test(views_pattern js_views)
