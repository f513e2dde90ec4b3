-- ok
local first = {}
for i = 1, 5 do first[i] = math.random(1000000) end
assert(first[1] ~= first[2])
math.randomseed()
for i = 1, 5 do assert(math.random(1000000) == first[i]) end
math.randomseed(7)
local other = math.random()
math.randomseed(7)
assert(math.random() == other)
