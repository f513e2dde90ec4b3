-- fails: stopped after
local liar = setmetatable({}, {__len = function() return 1e15 end})
table.insert(liar, 1, "x")
