-- fails: stopped after 20000000 instructions
local list = {}
for i = 1, 30000 do list[i] = i end
while true do math.max(table.unpack(list)) end
