-- fails: stopped after 20000000 instructions
assert(not pcall(table.move, {}, math.mininteger, math.maxinteger, 2))
table.move({}, 1, math.maxinteger - 1, 2)
