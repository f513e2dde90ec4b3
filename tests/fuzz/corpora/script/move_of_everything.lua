-- fails: stopped after
table.move({}, math.mininteger, math.maxinteger, 2)
