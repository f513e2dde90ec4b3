-- fails: stopped after
pcall(function() while true do end end)
error('went on')
