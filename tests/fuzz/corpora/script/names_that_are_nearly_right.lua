-- fails: stopped after
local i = 0
while true do
  i = i + 1
  pcall(function() return rill["swee" .. i % 10] end)
end
