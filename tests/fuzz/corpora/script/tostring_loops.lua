-- fails: whose __tostring failed
error(setmetatable({}, {__tostring = function() while true do end end}))
