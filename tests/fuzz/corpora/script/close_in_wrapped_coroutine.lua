-- fails: stopped after
local function slow() while true do end end
local run = coroutine.wrap(function()
  local x <close> = setmetatable({}, {__close = slow})
  while true do end
end)
run()
