-- memory
local t = {}
local i = 0
while true do i = i + 1 t[i + 0.5] = i end
