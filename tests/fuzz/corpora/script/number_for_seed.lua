-- fails: stopped after 20000000 instructions
local s = ("0"):rep(1 << 20)
while true do pcall(function() return math.randomseed(s) end) end
