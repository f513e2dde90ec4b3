-- fails: yield across
coroutine.wrap(function() return (('x'):gsub('x', coroutine.yield)) end)()
