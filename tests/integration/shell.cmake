# The command line as a user meets it: doctor, list, the manual, privileges given up, the terminal.
add_executable(privs_probe ${CMAKE_CURRENT_LIST_DIR}/privs_probe.c)
target_link_libraries(privs_probe PRIVATE js_session Threads::Threads)

js_integration_test(privs 180 privs.py)
js_integration_test(doctor 400 doctor.py)
js_integration_test(doctor_hostile 120 doctor_hostile.py)
js_integration_test(list 240 list.py)
js_integration_alone(list) # it reads every process there is: what ends meanwhile, or does not answer, is said
js_integration_test(list_hostile 120 list_hostile.py)
js_integration_test(manual 60 manual.py)
js_integration_test(terminal 180 terminal.py)
foreach(name doctor list terminal)
  js_integration_sanitized(${name})
endforeach()
js_integration_test(completion 180 completion.py)
js_integration_test(typed 400 typed.py)
