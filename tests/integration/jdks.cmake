# Bringing JDKs, as far as that goes without a network; about 20 s.
js_integration_test(jdks 400 jdks.py)
