-- fails: stack overflow
local function f() table.sort({3, 2, 1}, f) end
f()
