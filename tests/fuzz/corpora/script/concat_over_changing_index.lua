-- fails: stopped after 20000000 instructions
local deep = setmetatable({}, {__index = function() return "" end})
for i = 1, 50 do deep = setmetatable({}, {__index = deep}) end
local list = setmetatable({}, {})
getmetatable(list).__index = function() getmetatable(list).__index = deep return "" end
table.concat(list, "", 1, 1e9)
