-- fails: stack overflow
local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end
assert(deep(3000) == 3000)
assert(not pcall(deep, 1e6))
local t = function() end
for i = 1, 100000 do t = setmetatable({}, {__call = t}) end
assert(select(2, pcall(t)) == 'stack overflow')
t()
