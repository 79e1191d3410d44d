js_unit_test(insn_fields js_insn Zydis::Zydis)
