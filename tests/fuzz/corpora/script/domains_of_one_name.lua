-- fails: is this call in a loop?
local function none() end
local good, why
repeat
  good, why = pcall(rill.domain, { name = "gone", actions = 2, start = none, advance = none, choices = none })
until not good and not why:find("registered already", 1, true)
error(why)
