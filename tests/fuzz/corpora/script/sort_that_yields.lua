-- fails: yield across
coroutine.wrap(function() table.sort({3, 2, 1}, coroutine.yield) end)()
