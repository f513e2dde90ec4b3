-- fails: stopped after 20000000 instructions
local liar = setmetatable({}, {__len = function() return 1e15 end})
table.insert(liar, 1, "x")
