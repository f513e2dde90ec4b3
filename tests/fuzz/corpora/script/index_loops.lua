-- fails: stopped after
local t = setmetatable({}, {__index = function() while true do end end})
pcall(function() return t.x end)
print("went on")
