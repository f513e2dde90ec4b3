-- ok
return table.unpack({}, 1, 10000)
