-- fails: stopped after
local function nest(n)
  if n == 0 then while true do end end
  pcall(nest, n - 1)
  print("went on")
end
nest(50)
