-- fails: scripts have no finalizers
setmetatable({}, {__gc = function() while true do end end})
