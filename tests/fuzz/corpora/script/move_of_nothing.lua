-- fails: stopped after
table.move({}, 1, 1e15, 2)
