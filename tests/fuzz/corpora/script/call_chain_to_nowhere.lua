-- ok
local t = {}
for i = 1, 15000 do t = setmetatable({}, {__call = t}) end
local good, message = pcall(t)
assert(not good and message:find('attempt to call a table value'))
