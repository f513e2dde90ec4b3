-- fails: whose __tostring failed
error(setmetatable({}, {__tostring = function(x) error(x) end}))
