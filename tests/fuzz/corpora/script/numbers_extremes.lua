-- ok
assert(math.mininteger // -1 == math.mininteger and math.mininteger % -1 == 0)
assert(not pcall(function() return 1 // 0 end) and not pcall(function() return 1 % 0 end))
assert(1 << 64 == 0 and 1 << -1 == 0 and 1 >> math.mininteger == 0)
assert(not pcall(function() return 2^53 | 1.5 end))
assert(not pcall(math.random, 0, -1) and not pcall(math.tointeger))
for i = math.maxinteger - 1, math.maxinteger do end
for i = 1, 3, math.maxinteger do end
assert(not pcall(function() for i = 1, 2, 0 do end end))
assert(tonumber("0x" .. ("f"):rep(100)) and not tonumber(("1"):rep(100) .. "z") and tonumber("1e9999") == math.huge)
assert(not pcall(tonumber, "1", 99) and tonumber("zz", 36) == 1295)
