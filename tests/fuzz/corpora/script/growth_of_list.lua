-- memory
local list
while true do list = {list} end
