-- fails: 
table.move({}, math.mininteger, math.maxinteger, 2)
