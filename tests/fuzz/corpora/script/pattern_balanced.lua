-- fails: stopped after
return (('('):rep(1e6)):find('%b()')
