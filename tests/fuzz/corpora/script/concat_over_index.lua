-- fails: stopped after 20000000 instructions
local below = {}
for i = 1, 100000 do below[i] = "" end
local list = setmetatable({}, {__index = below})
while true do table.concat(list, "", 1, 100000) end
