-- ok
local good, message = xpcall(error, function(m) error("again") end, "first")
assert(not good)
assert(not xpcall(error, error, "x"))
local _, text = xpcall(error, function(m) return m .. "!" end, "told", 0)
assert(text == "told!")
