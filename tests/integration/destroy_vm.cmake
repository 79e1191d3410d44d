js_integration_test(destroy_vm.17 60 destroy_vm.py --jdk 17)
js_integration_test(destroy_vm.new 60 destroy_vm.py --jdk 25,21)
