js_integration_test(children.17 120 children.py --jdk 17 java)
js_integration_test(children.new 120 children.py --jdk 25,21 java)
js_integration_test(children.attach 60 children.py attach)
js_integration_test(children.many 60 children.py many)
js_integration_test(children.rights 60 children.py rights)
js_integration_alone(children.attach children.many) # 400 processes at once leave no CPU time to others
