js_unit_test(broker js_broker)
target_link_options(test_broker PRIVATE -Wl,--wrap=openat,--wrap=__openat_2)
