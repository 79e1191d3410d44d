js_integration_test(startup.holes 60 startup.py holes)
set_property(TEST integration.startup.holes APPEND PROPERTY LABELS perf)
js_integration_test(startup.17 120 startup.py --jdk 17 java)
js_integration_test(startup.new 120 startup.py --jdk 25,21 java)
