-- memory
return table.concat(setmetatable({}, {__index = function() return ('x'):rep(1000) end}), '', 1, 1e15)
