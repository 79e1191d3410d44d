js_integration_test(hostile_files 300 hostile_files.py)
js_integration_test(hostile_names 120 hostile_names.py)
