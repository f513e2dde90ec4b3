-- fails: stopped after
return (''):rep(1e15)
