js_integration_test(tiers.17 90 tiers.py --jdk 17)
js_integration_test(tiers.new 90 tiers.py --jdk 25,21)
