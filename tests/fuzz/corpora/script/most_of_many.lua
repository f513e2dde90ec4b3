-- fails: stopped after
local list = {}
for i = 1, 100000 do list[i] = i end
while true do math.max(table.unpack(list)) end
