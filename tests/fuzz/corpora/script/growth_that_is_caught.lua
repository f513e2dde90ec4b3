-- ok
local function grow() local list while true do list = {list} end end
for i = 1, 2 do
  local good, message = pcall(grow)
  assert(not good and message == "not enough memory", message)
end
