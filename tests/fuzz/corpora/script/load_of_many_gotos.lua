-- fails: stopped after
-- Jumps that wait for their labels are compared with each other when a text is compiled.
local parts = {}
for i = 1, 30000 do parts[i] = "goto a" .. i end
while true do pcall(load, table.concat(parts, " ")) end
