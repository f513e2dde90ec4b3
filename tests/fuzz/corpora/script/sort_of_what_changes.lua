-- ok
local t = {}
for i = 1, 100 do t[i] = 100 - i end
pcall(table.sort, t, function(a, b) for i = 1, #t do t[i] = nil end return a < b end)
t = {}
for i = 1, 100 do t[i] = 100 - i end
pcall(table.sort, t, function(a, b) t[#t + 1] = a return (a or 0) < (b or 0) end)
