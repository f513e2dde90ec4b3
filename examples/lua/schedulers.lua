-- Three schedulers. A scheduler decides which items a timestep expands and when inputs are admitted. It never affects
-- results: the outputs are the same under every scheduler.
--
--   lua-shortest   expands the items of the smallest inputs first, so that most items finish early
--   lua-widest     expands the items with the widest beams first, since these are the hardest to fit into a budget
--   lua-prompt     expands the oldest items first, and admits no more items than the budget can expand: none waits long
--
-- Without `refill` a scheduler admits inputs as the built-in streaming schedulers do: when at most a share (the option
-- refill-threshold) of N = max-items is in flight.
--
-- Measured on ATIS's test set (budget 100, max-items 100, n = k = 10): timesteps of the run, and timesteps from an
-- item's admission to its end (median, 95th percentile, maximum). An item decoded alone needs as many timesteps as its
-- longest hypothesis has actions.
--                              run   median  95 %   most
--   var-stream                 738       97   249    676
--   stream-all                 558       80   130    197
--   var-stream, lua-shortest   626       46   162    482
--   var-stream, lua-widest     592       87   133    232
--   var-stream, lua-prompt     629       39   103    163

rill.scheduler{
  name = "lua-shortest", summary = "expand the items of the smallest inputs first",
  choose = function(f) return f.size:order() end,
}

rill.scheduler{
  name = "lua-widest", summary = "expand the items with the widest beams first",
  choose = function(f) return f.width:order("descending") end,
}

-- Limits the number of items in flight to those that a timestep's budget can expand, so that no item pauses for long. A
-- new item has one candidate, but will soon be as wide as the others.
rill.scheduler{
  name = "lua-prompt", summary = "expand the oldest items first; admit as many inputs as fit the budget",
  choose = function(f) return f.item_id:order() end,
  refill = function(f)
    if f.budget == 0 or f.n == 0 then return f.batch end
    local used = f.width:sum()
    return (f.budget - used) // (used / f.n)
  end,
}
