-- ok
local function f(...) return 1 + f(1, ...) end
for i = 1, 3 do
  local good, message = pcall(f)
  assert(not good and message:find("stack overflow"))
end
