-- ok
rill.scheduler{
  name = "deepest",
  choose = function(f) return f.timestep:order("descending") end,
  refill = function(f) return f.waiting > 0 and f.max_items - f.n or 0 end,
}
rill.scheduler{name = "wild", choose = function(f) return {3, 3, -1, 1e9, "x"} end}
