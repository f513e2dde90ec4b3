assert((''):rep(1e15) == '' and (''):rep(1 << 62, '') == '' and (''):rep('8') == '')
assert(('x'):rep(0) == '' and ('x'):rep(-1, ',') == '' and (''):rep(3, ',') == ',,' and not pcall(string.rep, '', 1.5))
