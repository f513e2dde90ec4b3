-- fails: stopped after 4.0 seconds
local t = function() end
for i = 1, 15000 do t = setmetatable({}, {__call = t}) end
local x = setmetatable({}, {__close = t, __unm = t})
while true do
  local a <close>, b = x, -x
end
