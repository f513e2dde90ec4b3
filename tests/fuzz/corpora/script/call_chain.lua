-- fails: stack overflow
local t = function() end
for i = 1, 100000 do t = setmetatable({}, {__call = t}) end
t()
