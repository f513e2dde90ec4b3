-- ok
string.upper = function() return "mine" end
assert(("x"):upper() == "mine")
string.find = nil
assert(not pcall(function() return ("x"):find("x") end))
