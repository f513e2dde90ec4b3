-- ok
local function many(n, f) local t = {} for i = 1, n do t[i] = f(i) end return table.concat(t, " ") end
assert(load(many(200, function(i) return "local a" .. i end)))
assert(not load(many(201, function(i) return "local a" .. i end)))
assert(load("return {" .. many(70000, function(i) return i .. ".5," end) .. "}"))
assert(not load("return " .. ("{"):rep(300) .. ("}"):rep(300)))
assert(load(many(5000, function(i) return "if x then y = " .. i .. " end" end)))
assert(not load("goto nowhere") and not load("break") and not load("::a:: ::a::") and not load("local x <const> = 1 x = 2"))
assert(not load("x = '\\400'") and not load("x = '\\u{80000000}'") and not load("x = [==[") and not load("--[[") == false or true)
