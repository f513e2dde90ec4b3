-- fails: _ENV
local f = print
_ENV = nil
print('x')
