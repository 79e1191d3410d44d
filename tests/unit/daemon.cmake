js_unit_test(identity js_identity)
js_unit_test(rules js_rules)
js_unit_test(config js_config)
js_unit_test(governor js_governor)
