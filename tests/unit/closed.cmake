js_unit_test(closed_caller js_closed)
js_unit_test(closed_opener js_closed)
js_unit_test(closed_process js_closed)
