-- fails: as it wishes
error(setmetatable({}, {__tostring = function() return 'as it wishes' end}))
