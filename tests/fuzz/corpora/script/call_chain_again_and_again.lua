-- fails: stopped after 4.0 seconds
local t = function() end
for i = 1, 15000 do t = setmetatable({}, {__call = t}) end
while true do t() end
