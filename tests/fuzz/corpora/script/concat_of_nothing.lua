-- fails: invalid value
return table.concat({}, '', 1, 1e15)
