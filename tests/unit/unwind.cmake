js_unit_test(unwind_flow js_unwind)
