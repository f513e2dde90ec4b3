-- A simple model of arrays to compare with: an array is a table {level=, type=, n=, v={...}}, an operation is a loop
-- over the elements.
local inf, nan = math.huge, 0 / 0

-- --- calls and levels ----------------------------------------------------------------------------------------------------

local frame -- the call in progress: lengths of its segments, and item[i], the item of cell i

-- Begin a call; returns its number of cells.
local function open_frame(lengths)
  frame = { lengths = lengths, item = {}, segments = {} }
  for i, n in ipairs(lengths) do
    frame.segments[i] = { #frame.item + 1, #frame.item + n }
    for _ = 1, n do frame.item[#frame.item + 1] = i end
  end
  return #frame.item
end

local function make(level, kind, v, n)
  return { level = level, type = kind, n = n or #v, v = v }
end

local function is_number(x) return type(x) == "number" end
local function is_model(x) return type(x) == "table" end

local function segments(m)
  return m.level == "cells" and frame.segments or { { 1, m.n } }
end

-- Return the level and the length of an operation's result; raise an error if the operands do not fit.
local function join(operands)
  local height = { plain = 1, items = 2, cells = 3 }
  local level, n
  for _, o in ipairs(operands) do
    if is_model(o) and (not level or height[o.level] > height[level]) then level, n = o.level, o.n end
  end
  for _, o in ipairs(operands) do
    if is_model(o) and not (o.level == "items" and level == "cells") and o.n ~= n then error("misfit") end
  end
  return level, n
end

-- + 0.0 turns -0.0 into 0.0, so it is only for integers
local function to_float(x) return math.type(x) == "integer" and x + 0.0 or x end

-- Return element i of an operand, as a float, for an operation at this level.
local function element(o, i, level)
  if o == true then return 1.0 elseif o == false then return 0.0 end
  if is_number(o) then return to_float(o) end
  if o.level == "items" and level == "cells" then i = frame.item[i] end
  return to_float(o.v[i])
end

local function narrow(kind, x)
  if kind == "float64" then return x end
  if kind == "float32" then return (string.unpack("f", string.pack("f", x))) end
  if kind == "mask" then return x ~= 0 and 1 or 0 end
  if x ~= x then error("NaN") end
  local least, most = math.mininteger, math.maxinteger
  if kind == "int32" then least, most = -2147483648, 2147483647 end
  if x >= most + 0.0 then return most elseif x < least + 0.0 then return least end
  return math.tointeger(math.floor(x))
end

local function elementwise(operands, kind, f)
  local level, n = join(operands)
  if not level then return f(element(operands[1], 1), operands[2] and element(operands[2], 1),
                             operands[3] ~= nil and element(operands[3], 1)) end
  local v = {}
  for i = 1, n do
    local x = {}
    for k, o in ipairs(operands) do x[k] = element(o, i, level) end
    v[i] = narrow(kind, f(x[1], x[2], x[3]))
  end
  return make(level, kind, v, n)
end

local function assign(m, x)
  if is_model(x) and x.level == "cells" and m.level == "items" then error("misfit") end
  local v = {}
  local spread = is_model(x) and x.level == "items" and m.level == "cells"
  if is_model(x) and not spread and x.n ~= m.n then error("misfit") end
  for i = 1, m.n do
    -- without conversion
    if is_model(x) and not spread and x.type == m.type then v[i] = m.type == "mask" and narrow("mask", x.v[i]) or x.v[i]
    else v[i] = narrow(m.type, element(x, i, m.level)) end
  end
  return make(m.level, m.type, v, m.n)
end

local function before(x, j, i) -- whether element j precedes element i in descending order
  if x[i] ~= x[i] then return x[j] == x[j] or j < i end
  return x[j] > x[i] or x[j] == x[i] and j < i
end

local function ranks(x)
  local out = {}
  for i = 1, #x do
    out[i] = 1
    for j = 1, #x do if j ~= i and before(x, j, i) then out[i] = out[i] + 1 end end
  end
  return out
end

local function greatest(x)
  local most = -inf
  for i = 1, #x do if x[i] > most then most = x[i] end end
  return most
end

local function place(x, sign)
  local best = 0
  for i = 1, #x do
    if best == 0 then if x[i] == x[i] then best = i end
    elseif sign * x[i] > sign * x[best] then best = i end
  end
  return best
end

local reductions = {
  sum = function(x) local t = 0.0 for i = 1, #x do t = t + x[i] end return t end,
  max = greatest,
  min = function(x) local t = inf for i = 1, #x do if x[i] < t then t = x[i] end end return t end,
  mean = function(x) local t = 0.0 for i = 1, #x do t = t + x[i] end return t / #x end,
  first = function(x) return x[1] or nan end,
  last = function(x) return x[#x] or nan end,
  count = function(x) local t = 0 for i = 1, #x do if x[i] ~= 0 then t = t + 1 end end return t end,
  any = function(x) for i = 1, #x do if x[i] ~= 0 then return 1 end end return 0 end,
  all = function(x) for i = 1, #x do if x[i] == 0 then return 0 end end return 1 end,
  argmax = function(x) return place(x, 1) end,
  argmin = function(x) return place(x, -1) end,
  logsumexp = function(x)
    local most, t = greatest(x), 0.0
    for i = 1, #x do if x[i] ~= x[i] then return nan end end
    if most == inf or most == -inf then return most end
    for i = 1, #x do t = t + math.exp(x[i] - most) end
    return most + math.log(t)
  end,
}

local walks = {
  cumsum = function(x) local t, out = 0.0, {} for i = 1, #x do t = t + x[i] out[i] = t end return out end,
  cummax = function(x) local t, out = -inf, {} for i = 1, #x do if x[i] > t then t = x[i] end out[i] = t end return out end,
  diff = function(x) local out = {} for i = 1, #x do out[i] = i > 1 and x[i] - x[i - 1] or 0.0 end return out end,
  softmax = function(x)
    local most, t, out = greatest(x), 0.0, {}
    for i = 1, #x do out[i] = math.exp(x[i] - most) t = t + out[i] end
    for i = 1, #x do out[i] = out[i] / t end
    return out
  end,
  rank = ranks,
  index = function(x) local out = {} for i = 1, #x do out[i] = i end return out end,
}

-- Apply f to each segment of m's values, given as floats.
local function each_segment(m, f)
  for j, s in ipairs(segments(m)) do
    local x = {}
    for i = s[1], s[2] do x[#x + 1] = element(m, i, m.level) end
    f(j, x, s[1] - 1)
  end
end

local kinds = { count = "int32", argmax = "int32", argmin = "int32", any = "mask", all = "mask", rank = "int32", index = "int32" }

local function reduce(m, name)
  local v = {}
  each_segment(m, function(j, x) v[j] = reductions[name](x) end)
  if m.level == "cells" then return make("items", kinds[name] or "float64", v, #frame.lengths) end
  if kinds[name] == "mask" then return v[1] ~= 0 end
  return v[1]
end

local function walk(m, name)
  local v = {}
  each_segment(m, function(_, x, at) for i, y in ipairs(walks[name](x)) do v[at + i] = y end end)
  return make(m.level, kinds[name] or "float64", v, m.n)
end

local function top(m, k)
  if is_model(k) and not (m.level == "cells" and k.level == "items") then error("misfit") end
  local v = {}
  each_segment(m, function(j, x, at)
    local most = is_model(k) and k.v[j] or k
    for i, r in ipairs(ranks(x)) do v[at + i] = r <= most and 1 or 0 end
  end)
  return make(m.level, "mask", v, m.n)
end

local function count_by(m, keys)
  if join({ m, keys }) ~= m.level then error("misfit") end
  local v = {}
  for _, s in ipairs(segments(m)) do
    for i = s[1], s[2] do
      v[i] = 0
      for j = s[1], i - 1 do
        if element(keys, j, m.level) == element(keys, i, m.level) then v[i] = v[i] + 1 end
      end
    end
  end
  return make(m.level, "int32", v, m.n)
end

local function order(m, way)
  local x, v = {}, {}
  for i = 1, m.n do x[i] = (way == "descending" and 1 or -1) * element(m, i, m.level) end
  for i, r in ipairs(ranks(x)) do v[r] = i end
  return make("plain", "int32", v, m.n)
end

local function spread(m)
  if m.level == "plain" then error("no segments") end
  local v = {}
  for i = 1, #frame.item do v[i] = element(m, i, "cells") end
  return make("cells", "float64", v)
end

-- --- operations: what a script writes, and what the model computes for it
-- -------------------------------------------------

local function truth(x) return x ~= 0 and 1 or 0 end
-- in C zeros have a sign, as Lua integers they have none
local function signed(y, x) return y == 0 and x * 0.0 or to_float(y) end
local function greater(x, y) if x ~= x then return y elseif y ~= y then return x end return x > y and x or y end
local function lesser(x, y) if x ~= x then return y elseif y ~= y then return x end return x < y and x or y end

local binary = {
  { "float64", function(a, b) return a + b end, function(x, y) return x + y end },
  { "float64", function(a, b) return a - b end, function(x, y) return x - y end },
  { "float64", function(a, b) return a * b end, function(x, y) return x * y end },
  { "float64", function(a, b) return a / b end, function(x, y) return x / y end },
  { "float64", function(a, b) return a % b end, function(x, y) return x % y end },
  { "float64", function(a, b) return a ^ b end, function(x, y) return x ^ y end },
  { "float64", function(a, b) return a // b end, function(x, y) return x // y end },
  { "float64", function(a, b) return rill.max(a, b) end, greater },
  { "float64", function(a, b) return rill.min(a, b) end, lesser },
  { "mask", function(a, b) return a:lt(b) end, function(x, y) return x < y and 1 or 0 end },
  { "mask", function(a, b) return a:le(b) end, function(x, y) return x <= y and 1 or 0 end },
  { "mask", function(a, b) return a:gt(b) end, function(x, y) return x > y and 1 or 0 end },
  { "mask", function(a, b) return a:ge(b) end, function(x, y) return x >= y and 1 or 0 end },
  { "mask", function(a, b) return a:eq(b) end, function(x, y) return x == y and 1 or 0 end },
  { "mask", function(a, b) return a:ne(b) end, function(x, y) return x ~= y and 1 or 0 end },
  { "mask", function(a, b) return a & b end, function(x, y) return truth(x) & truth(y) end },
  { "mask", function(a, b) return a | b end, function(x, y) return truth(x) | truth(y) end },
  { "mask", function(a, b) return a ~ b end, function(x, y) return truth(x) ~ truth(y) end },
}

local unary = {
  { "float64", function(a) return -a end, function(x) return -x end },
  { "mask", function(a) return ~a end, function(x) return 1 - truth(x) end },
  { "float64", function(a) return a:exp() end, math.exp },
  { "float64", function(a) return a:log() end, math.log },
  { "float64", function(a) return a:abs() end, math.abs },
  { "float64", function(a) return a:sqrt() end, math.sqrt },
  { "float64", function(a) return a:floor() end, function(x) return signed(math.floor(x), x) end },
  { "float64", function(a) return a:ceil() end, function(x) return signed(math.ceil(x), x) end },
}

local function names(t)
  local out = {}
  for name in pairs(t) do out[#out + 1] = name end
  table.sort(out)
  return out
end

return { open_frame = open_frame, make = make, is_model = is_model, narrow = narrow, elementwise = elementwise, assign = assign,
         reduce = reduce, walk = walk, top = top, count_by = count_by, order = order, spread = spread, greater = greater,
         lesser = lesser, binary = binary, unary = unary, reductions = names(reductions), walks = names(walks) }
