-- fails: stopped after
return (('a'):rep(10000)):find('.-.-.-.-b')
