-- fails: an error object (a table value)
error({})
