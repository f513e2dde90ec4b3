-- ok
local env = {}
assert(load("x = 1", "chunk", "t", env))()
assert(env.x == 1 and x == nil)
assert(load("return _G", "chunk", "t", {})() == nil)
assert(not pcall(load("return x.y", "=(name)", "t", {})))
assert(load("syntax error here") == nil)
assert(load("") ~= nil)
