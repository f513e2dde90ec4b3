-- ok
local called = 0
local meta = {}
for i = 1, 2000 do setmetatable({}, meta) end
meta.__gc = function() called = called + 1 end
for i = 1, 50000 do local t = {i} end
assert(called == 0)
assert(not pcall(setmetatable, {}, meta))
rawset(meta, "__gc", false)
assert(not pcall(setmetatable, {}, meta))
