-- fails: stopped after 20000000 instructions
local s = ("0"):rep(1 << 20)
while true do
  local x = s + 0
  x = -s
  x = s // 1
end
