js_integration_test(interrupt 120 interrupt.py)
js_integration_all_processes(interrupt)
