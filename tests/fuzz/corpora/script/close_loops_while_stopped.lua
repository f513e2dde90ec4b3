-- fails: stopped after
local function slow() while true do end end
local function f()
  local x <close> = setmetatable({}, {__close = slow})
  while true do end
end
pcall(f)
print("went on")
