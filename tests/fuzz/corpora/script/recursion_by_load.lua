-- fails: C stack overflow
return assert(load(('('):rep(10000) .. '1' .. (')'):rep(10000)))
