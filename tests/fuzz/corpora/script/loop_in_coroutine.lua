-- fails: stopped after
coroutine.wrap(function() while true do end end)()
print('went on')
