-- ok
local depth = 0
local function f() depth = depth + 1 return pcall(f) end
f()
assert(depth > 100)
