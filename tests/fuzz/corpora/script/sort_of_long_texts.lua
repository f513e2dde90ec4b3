-- fails: stopped after 20000000 instructions
local list = {}
local s = ("x"):rep(1 << 20)
for i = 1, 100000 do list[i] = i % 2 == 0 and s or s .. "" end
table.sort(list)
