-- fails: pattern too complex
return (('a'):rep(1000)):find(('a?'):rep(1000))
