-- fails: too many captures
return ('x'):find(('()'):rep(33))
