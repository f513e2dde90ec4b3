-- ok
local f, message = load("\27Lua" .. ("x"):rep(100))
assert(f == nil and message:find("binary chunk"))
assert(load("\27Lua", "x", "bt") == nil)
assert(not pcall(load, "return 1", "x", "b"))
assert(not pcall(load, function() return "return 1" end))
assert(string.dump == nil and ("").dump == nil)
