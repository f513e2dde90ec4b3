-- fails: stopped after
while true do
  coroutine.wrap(function() for i = 1, 150 do local x = i * i end end)()
end
