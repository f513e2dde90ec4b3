-- Functions of a shared object as a heuristic and a scorer, without writing a plugin.
--
--   LD_LIBRARY_PATH=build/examples \
--     rill run --unsafe-scripts examples/lua/native/native.lua < examples/questions/geo.txt
--
-- native.so is native.c, built with the project. It is looked for beside this file, then wherever the system keeps
-- libraries. Native code is beyond the sandbox, hence --unsafe-scripts.

local lib = rill.ffi.open("native.so")

-- A signature is C's, shortened: beams* is rill_candidates *, and so on. It is checked when it is read, and the arguments
-- of every call are checked against it; that it is true, nothing can check.
local prune = lib:bind("prune", "void(beams*, double)")
local reward = lib:bind("reward", "int(rows*, ask*, float)")
local clear_below = lib:bind("clear_below", "void(uint8*, const double*, size_t, double)")

-- The other way round: a Lua function becomes a C function pointer. A candidate at distance d below the best is likely
-- to be of use in the share exp(-d/2) of all cases, say; prune where that falls to one in a hundred.
local root = lib:bind("root", "double(void*, double, double)")
local delta = root(rill.ffi.callback("double(double)", function(d) return math.exp(-d / 2) - 0.01 end), 0, 100)

-- Bound functions can be called with the arrays of a call. This one knows nothing of items, so it gets the same
-- threshold for all: scores below -200 are hopeless whatever the item.
local function hopeless(b)
  clear_below(b.keep, b.score, b.size, -200)
end

return {
  model = "../../models/geo",
  options = { method = "stream-all", k = 10, n = 10 },
  -- with() fixes the last arguments; the engine passes the first. Once per timestep, with no Lua in between.
  heuristics = { prune:with(delta), hopeless },
  scorers = { reward:with(0.1) },
}
