-- fails: stopped after
local text = ("\n"):rep(1 << 22)
for _ = 1, 1e9 do print(text) end
