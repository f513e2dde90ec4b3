-- ok
for _, name in ipairs{"heuristic", "scorer", "scheduler", "domain", "array", "zeros", "where", "max", "min", "sweep"} do
  local f = rawget(rill, name)
  if f then
    for _, v in ipairs{1, -1, "x", {}, {name = 1}, {name = "x"}, {apply = 1}, {{}}, {print}, print, false, 0/0, 1e300} do
      pcall(f, v)
      pcall(f, v, v, v)
    end
    pcall(f)
    pcall(f, nil)
  end
end
