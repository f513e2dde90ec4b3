-- fails: stopped after
xpcall(function() while true do end end, function() while true do end end)
error('went on')
