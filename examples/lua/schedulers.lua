-- Three schedulers. A scheduler decides when an item is expanded and in which batch, but never affects results:
-- whatever these return, the outputs are the same.
--
--   lua-shortest   items of the smallest inputs first: most finish early
--   lua-widest     the widest beams first: under a budget, the items that are hard to place are placed first
--   lua-prompt     the oldest items first, and no more than the budget can serve: none waits long
--
-- Without `refill` a scheduler admits inputs as the built-in streaming ones do: when at most a share of N is in flight.
--
-- Measured on ATIS's test set (budget 100, max-items 100, n = k = 10): timesteps of the run, and timesteps from an
-- item's admission to its end, of which an item alone needs as many as its longest hypothesis has actions:
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

-- Limits the items in flight to what a timestep's budget can serve, so that no item pauses for long. A new item has one
-- candidate, but will soon be as wide as the others.
rill.scheduler{
  name = "lua-prompt", summary = "expand the oldest items first; admit what the budget has room for",
  choose = function(f) return f.item_id:order() end,
  refill = function(f)
    if f.budget == 0 or f.n == 0 then return f.batch end
    local used = f.width:sum()
    return (f.budget - used) // (used / f.n)
  end,
}
