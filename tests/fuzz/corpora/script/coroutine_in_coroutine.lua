-- fails: stopped after
local function deeper(n)
  if n == 0 then while true do end end
  pcall(coroutine.wrap(deeper), n - 1)
  print("went on")
end
deeper(20)
