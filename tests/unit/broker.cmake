js_unit_test(broker js_broker)
js_unit_test(broker_far js_broker js_target js_files js_base)
js_unit_test(broker_patience js_broker js_target js_base)
target_link_options(test_broker PRIVATE -Wl,--wrap=openat,--wrap=__openat_2)
