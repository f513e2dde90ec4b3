-- fails: stopped after
local s = (' '):rep(1e6)
while true do tonumber(s) end
