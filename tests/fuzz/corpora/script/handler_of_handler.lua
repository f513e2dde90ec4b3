-- fails: stopped after
local function handler() xpcall(error, function() while true do end end) end
xpcall(function() while true do end end, handler)
print("went on")
