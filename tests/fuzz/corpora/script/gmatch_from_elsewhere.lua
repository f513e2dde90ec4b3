-- ok
local next_one = ("abc"):gmatch("%a")
local co = coroutine.wrap(function() return next_one() end)
assert(co() == "a" and next_one() == "b" and next_one() == "c" and next_one() == nil and next_one() == nil)
assert(("abc"):gmatch("%a", -1)() == "c" and ("abc"):gmatch("%a", 100)() == nil)
