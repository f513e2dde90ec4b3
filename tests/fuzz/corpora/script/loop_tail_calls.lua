-- fails: stopped after
local function f() return f() end
f()
