# The sampler with the bridge: --bridge, --symbols, list, and what can go wrong.
js_integration_test(bridge_use 180 bridge_use.py)
js_integration_sanitized(bridge_use)
