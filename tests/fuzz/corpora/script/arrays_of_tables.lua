-- fails: stopped after
local t = {}
for i = 1, 1 << 18 do t[i] = true end
while true do rill.array(t) end
