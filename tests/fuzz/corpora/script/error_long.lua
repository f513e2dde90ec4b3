-- fails: xxxxxxxx
error(('x'):rep(100000))
