-- fails: stopped after
xpcall(function() error('x') end, function() while true do end end)
error('went on')
