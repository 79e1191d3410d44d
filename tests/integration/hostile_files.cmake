js_integration_test(hostile_files 300 hostile_files.py)
