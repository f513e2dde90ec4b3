-- fails: an error object (a table value)
coroutine.wrap(function() error({}) end)()
