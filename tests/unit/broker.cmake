js_unit_test(broker js_broker)
