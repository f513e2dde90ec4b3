-- fails: stopped after
pcall(function() while true do end end)
print('went on')
