-- fails: message
error('message', 1000)
