-- memory
local t = {'x'}
while true do t[1] = table.concat({t[1], t[1], t[1], t[1]}) end
