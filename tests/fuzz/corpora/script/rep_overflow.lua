-- fails: too large
return ('xxxx'):rep(math.maxinteger)
