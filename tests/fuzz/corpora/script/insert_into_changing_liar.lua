-- ok
local first = true
local liar = setmetatable({}, {__len = function() if first then first = false return 0 end return 1e15 end})
assert(table.remove(liar, 1) == nil)
