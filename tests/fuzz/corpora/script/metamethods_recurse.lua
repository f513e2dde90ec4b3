-- ok
local t = setmetatable({}, {})
local meta = getmetatable(t)
for _, event in ipairs{"__add", "__concat", "__len", "__eq", "__lt", "__le", "__call", "__unm", "__index", "__newindex"} do
  meta[event] = function(a, b) return a + b end
end
for _, f in ipairs{
  function() return t + t end, function() return t .. t end, function() return -t end, function() return #t end,
  function() return t < t end, function() return t() end, function() return t.x end, function() t.x = 1 end,
} do
  assert(not pcall(f))
end
