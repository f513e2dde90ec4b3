-- fails: stopped after
local function slow() while true do end end
pcall(function()
  local x <close> = setmetatable({}, {__close = slow})
  error("x")
end)
print("went on")
