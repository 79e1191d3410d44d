js_integration_test(replay.17 120 replay.py --jdk 17)
js_integration_test(replay.new 120 replay.py --jdk 25,21)
js_integration_sanitized(replay.17)
