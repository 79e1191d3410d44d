js_unit_test(wire js_peer)
