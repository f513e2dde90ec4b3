-- Three policies. A policy decides when an item is expanded and beside whom, never what becomes of it: whatever these
-- return, the outputs are the same.
--
--   lua-shortest   items of the smallest inputs first: most are done soon
--   lua-widest     the widest beams first: under a budget, what is hard to place is placed first
--   lua-prompt     the oldest items first, and no more of them than the budget can serve: none waits long
--
-- Without `refill` a policy admits inputs as the built-in streaming ones do: when at most a share of N is in flight.
--
-- Measured on ATIS's test set (budget 100, max-items 100, n = k = 10): timesteps of the run, and timesteps from an item's
-- admission to its end, of which a lone item needs as many as its longest hypothesis has actions:
--                              run   median  95 %   most
--   var-stream                 738       97   249    676
--   stream-all                 558       80   130    197
--   var-stream, lua-shortest   626       46   162    482
--   var-stream, lua-widest     592       87   133    232
--   var-stream, lua-prompt     629       39   103    163

rill.policy{
  name = "lua-shortest", summary = "expand the items of the smallest inputs first",
  choose = function(f) return f.size:order() end,
}

rill.policy{
  name = "lua-widest", summary = "expand the items with the widest beams first",
  choose = function(f) return f.width:order("descending") end,
}

-- What is in flight is kept to what a timestep's budget can serve, so that no item pauses for long. A new item is one
-- candidate wide, but will soon be as wide as the others are.
rill.policy{
  name = "lua-prompt", summary = "expand the oldest items first; admit what the budget has room for",
  choose = function(f) return f.item_id:order() end,
  refill = function(f)
    if f.budget == 0 or f.n == 0 then return f.batch end
    local used = f.width:sum()
    return (f.budget - used) // (used / f.n)
  end,
}
