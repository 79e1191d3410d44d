js_integration_test(bad_input 180 bad_input.py)
js_integration_sanitized(bad_input)
