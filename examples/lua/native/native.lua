-- Functions of a shared object as a heuristic and a scorer, without writing a plugin.
--
--   LD_LIBRARY_PATH=build/examples \
--     rill run --unsafe-scripts examples/lua/native/native.lua < examples/questions/geo.txt
--
-- native.so is built from native.c with the project. It is searched in this file's directory, then in the system's
-- library path. The sandbox cannot limit native code, so --unsafe-scripts is required.

local lib = rill.ffi.open("native.so")

-- A signature is an abbreviated C prototype: candidates* is rill_candidates *, and so on. Its syntax is checked, and
-- the arguments of every call are checked against it. Whether it is the function's true signature cannot be checked.
local prune = lib:bind("prune", "void(candidates*, double)")
local reward = lib:bind("reward", "int(rows*, modifiers*, float)")
local clear_below = lib:bind("clear_below", "void(uint8*, const double*, size_t, double)")

-- A callback: a Lua function as a C function pointer. Suppose that a candidate whose score is d below the best is
-- useful in a share exp(-d/2) of all cases: prune where this share falls to one in a hundred.
local root = lib:bind("root", "double(void*, double, double)")
local delta = root(rill.ffi.callback("double(double)", function(d) return math.exp(-d / 2) - 0.01 end), 0, 100)

-- Native functions can be called with the arrays of `b`. This one does not distinguish items, so its threshold is the
-- same for all: scores below -200 are hopeless in any item.
local function hopeless(b)
  clear_below(b.keep, b.path_score, b.size, -200)
end

return {
  model = "../../models/geo",
  options = { method = "stream-all", beam_size = 10, batch_size = 10 },
  -- with() fixes the last arguments; the engine passes the first ones, once per timestep, without Lua in between.
  heuristics = { prune:with(delta), hopeless },
  scorers = { reward:with(0.1) },
}
