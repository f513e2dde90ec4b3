-- ok
local seen, n = {}, 0
local function visit(t)
  if seen[t] then return end
  seen[t] = true
  for name, value in next, t do
    n = n + 1
    assert(type(value) ~= "userdata", name)
    if type(value) == "table" then visit(value) end
  end
end
visit(_G)
assert(n > 100)
