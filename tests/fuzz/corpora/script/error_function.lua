-- fails: an error object (a function value)
error(print)
