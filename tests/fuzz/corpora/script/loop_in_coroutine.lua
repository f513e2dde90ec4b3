-- fails: stopped after
coroutine.wrap(function() while true do end end)()
error('went on')
