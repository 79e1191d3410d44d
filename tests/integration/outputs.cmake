js_integration_test(outputs 180 outputs.py)
js_integration_sanitized(outputs)
