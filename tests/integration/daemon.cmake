js_integration_test(daemon 300 daemon.py)
js_integration_all_processes(daemon)
js_integration_test(daemon_names 300 daemon_names.py)
js_integration_all_processes(daemon_names)
