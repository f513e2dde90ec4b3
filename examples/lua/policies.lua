-- Three policies. A policy decides when an item is expanded and beside whom, never what becomes of it: whatever these
-- return, the outputs are the same.
--
--   lua-shortest   items of the smallest input first: short ones are done soon
--   lua-widest     the widest beams first: under a budget, what is hard to place is placed first
--   lua-deadline   items that arrived first, first; refills as soon as one place is free: no input waits long
--
-- Without `refill` a policy admits inputs as the built-in streaming ones do: when at most a share of N is in flight.

rill.policy{
  name = "lua-shortest", summary = "expand the items of the smallest inputs first",
  choose = function(f) return f.size:order() end,
}

rill.policy{
  name = "lua-widest", summary = "expand the items with the widest beams first",
  choose = function(f) return f.width:order("descending") end,
}

rill.policy{
  name = "lua-deadline", summary = "expand the oldest items first; admit whenever there is room",
  choose = function(f) return f.item_id:order() end,
  refill = function(f) return f.max_items - f.n end,
}
