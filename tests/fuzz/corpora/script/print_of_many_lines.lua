-- fails: stopped after
local text = ("\n"):rep(1 << 20)
for _ = 1, 1e9 do print(text) end
