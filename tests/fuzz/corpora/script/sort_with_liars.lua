-- ok
local function list(n) local t = {} for i = 1, n do t[i] = i * 7919 % 1009 end return t end
local turn = 0
for n = 0, 60 do
  pcall(table.sort, list(n), function() return true end)
  pcall(table.sort, list(n), function() return false end)
  pcall(table.sort, list(n), function(a, b) turn = turn + 1 return turn % 3 == 0 end)
  pcall(table.sort, list(n), function(a, b) return nil end)
  pcall(table.sort, list(n), function(a, b) return a end)
  pcall(table.sort, list(n), function(a, b) error("x") end)
end
pcall(table.sort, {1, "x", {}})
pcall(table.sort, {1, nil, 3, nil, 5})
