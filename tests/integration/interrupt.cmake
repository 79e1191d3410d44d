js_integration_test(interrupt 120 interrupt.py)
