-- fails: stopped after
local s = ('x'):rep(1e6)
while true do s:find('y', 1, true) end
