-- fails: an error object (a nil value)
error()
