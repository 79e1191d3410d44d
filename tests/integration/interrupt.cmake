js_integration_test(interrupt 120 interrupt.py)
js_integration_test(silent_files 120 silent_files.py)
js_integration_all_processes(interrupt silent_files)
