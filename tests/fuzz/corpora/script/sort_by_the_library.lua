-- fails: stopped after 20000000 instructions
local list = {}
for i = 1, 100000 do list[i] = i * 7919 % 100003 end
while true do table.sort(list, math.ult) table.sort(list, function(a, b) return b < a end) end
