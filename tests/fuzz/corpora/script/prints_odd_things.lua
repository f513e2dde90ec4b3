-- ok
print()
print('a\nb\n')
print('a\0b')
print(('x'):rep(10000))
assert(not pcall(print, setmetatable({}, {__tostring = error})))
