-- ok
assert(not pcall(pcall) and not pcall(xpcall) and not pcall(xpcall, print) and not pcall(select) and not pcall(select, 0))
assert(not pcall(rawset, 1, 2, 3) and not pcall(rawget) and not pcall(rawlen, 1) and not pcall(next, {}, "x"))
assert(not pcall(ipairs) and not pcall(setmetatable, {}) and not pcall(getmetatable) and not pcall(error))
assert(not pcall(assert) and not pcall(assert, false) and not pcall(tostring) and not pcall(type))
assert(not pcall(rawset, {}, nil, 1) and not pcall(rawset, {}, 0/0, 1))
local t = {}
for i = 1, 100 do t[i] = i end
assert(not pcall(function() for k in pairs(t) do t[k] = nil t[k .. "x"] = 1 end error("x") end))
