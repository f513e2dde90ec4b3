-- ok
assert(getmetatable("") == nil)
assert(getmetatable(print) == nil and getmetatable(1) == nil and getmetatable(nil) == nil)
assert(getmetatable(rill) == "protected" and getmetatable(_G) == "protected")
assert(not pcall(setmetatable, rill, {}) and not pcall(setmetatable, _G, nil))
assert(not pcall(setmetatable, "x", {}) and not pcall(setmetatable, print, {}) and not pcall(setmetatable, {}, 1))
assert(not pcall(function() rill.mine = 1 end))
local hidden = setmetatable({}, {__metatable = "shut"})
assert(getmetatable(hidden) == "shut" and not pcall(setmetatable, hidden, {}))
