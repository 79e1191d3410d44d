js_integration_test(daemon 300 daemon.py)
js_integration_all_processes(daemon)
