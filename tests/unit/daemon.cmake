js_unit_test(identity js_identity)
