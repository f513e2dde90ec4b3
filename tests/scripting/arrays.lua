-- Tests of arrays. engine() and dice() are in array_fixture.c, the model for comparison in array_model.lua. Each function
-- of the returned table is a test.
local model = ...
local make, is_model, narrow, greater, lesser = model.make, model.is_model, model.narrow, model.greater, model.lesser
local binary, unary, elementwise = model.binary, model.unary, model.elementwise
local inf, nan = math.huge, 0 / 0
local tests = {}

-- --- comparing ---------------------------------------------------------------------------------------------------------

local function same(x, y) return x == y and (x ~= 0 or 1 / x == 1 / y) or x ~= x and y ~= y end

local function compare(a, m, what)
  if not is_model(m) then
    assert(same(a, m), ("%s: %s instead of %s"):format(what, a, m))
    return
  end
  local head = ("%s %s[%d] "):format(m.level, m.type, m.n)
  assert(tostring(a):sub(1, #head) == head, ("%s: %s instead of %s"):format(what, a, head))
  assert(#a == m.n, what)
  for i = 1, m.n do
    local x, y = a[i], m.v[i]
    assert(same(x, y), ("%s: element %d is %s instead of %s"):format(what, i, x, y))
    assert(math.type(x) == ((m.type == "float64" or m.type == "float32") and "float" or "integer"), what)
  end
end

local function fails(pattern, f, ...)
  local ok, message = pcall(f, ...)
  assert(not ok, "no error where one says: " .. pattern)
  assert(tostring(message):find(pattern, 1, true), ("the error is %q, not %q"):format(message, pattern))
end

-- --- random operations ---------------------------------------------------------------------------------------------------

local special = { 0.0, -0.0, 1, -1, 2, 3, 0.5, -2.5, inf, -inf, nan, 1e300, -1e300, 2147483647, -2147483648, 2147483648.5, 1e-300,
                  2 ^ 53, 9.3e18, -9.3e18 }

local function random_number()
  local how = dice(0, 9)
  if how < 3 then return special[dice(1, #special)] end
  if how < 7 then return dice(-4, 4) end
  return dice(-1000, 1000) / 64
end

local function random_value(kind)
  local x = random_number()
  if kind == "int64" and dice(0, 3) == 0 then return 9007199254740993 + dice(0, 8) end
  if x ~= x and kind ~= "float64" and kind ~= "float32" then x = 7 end
  -- native code may write other values than 0 and 1 to a mask
  if kind == "mask" then return ({ 0, 1, 0, 1, 0, 1, 2, 255 })[dice(1, 8)] end
  return narrow(kind, x + 0.0)
end

local function random_view(name, level, n)
  local kind = ({ "float64", "float32", "int32", "int64", "mask" })[dice(1, 5)]
  local values = {}
  local sorted = dice(0, 2) == 0
  for i = 1, n do values[i] = random_value(kind) end
  if sorted then table.sort(values, function(x, y) return x == x and (y ~= y or x > y) end) end
  return { name = name, type = kind, level = level, values = values, writable = dice(0, 1) == 1 }
end

local function random_lengths()
  local lengths = {}
  for i = 1, dice(0, 6) do lengths[i] = dice(0, 24) == 24 and dice(0, 600) or dice(0, 5) end
  return lengths
end

-- Return a pair of operands: a value of the script, and the same in the model.
local function random_operand(pool)
  if dice(0, 3) == 0 then
    local x = dice(0, 7) == 0 and dice(0, 1) == 1 or random_number()
    return { x, x }
  end
  return pool[dice(1, #pool)]
end

-- Apply one operation to both: both must succeed or both fail. The results must be equal, and may be operands later.
local function random_step(pool)
  local a, b, c = pool[dice(1, #pool)], random_operand(pool), random_operand(pool)
  local how, what, real, naive = dice(0, 12)
  if how < 5 then
    local op = binary[dice(1, #binary)]
    what = "binary " .. tostring(op[1])
    real = function() return op[2](a[1], b[1]) end
    naive = function()
      if op[1] == "float64" and type(b[2]) == "boolean" then error("no number") end
      return elementwise({ a[2], b[2] }, op[1], op[3])
    end
  elseif how == 5 then
    local op = unary[dice(1, #unary)]
    what, real = "unary", function() return op[2](a[1]) end
    naive = function() return elementwise({ a[2] }, op[1], op[3]) end
  elseif how == 6 then
    local name = model.reductions[dice(1, #model.reductions)]
    what, real, naive = name, function() return a[1][name](a[1]) end, function() return model.reduce(a[2], name) end
  elseif how == 7 then
    local name = model.walks[dice(1, #model.walks)]
    what, real, naive = name, function() return a[1][name](a[1]) end, function() return model.walk(a[2], name) end
  elseif how == 8 then
    what, real = "where", function() return rill.where(a[1], b[1], c[1]) end
    naive = function()
      return elementwise({ a[2], b[2], c[2] }, "float64", function(x, y, z) return x ~= 0 and y or z end)
    end
  elseif how == 9 then
    what, real = "clamp", function() return a[1]:clamp(b[1], c[1]) end
    naive = function()
      if type(b[2]) == "boolean" or type(c[2]) == "boolean" then error("no number") end
      return elementwise({ a[2], b[2], c[2] }, "float64", function(x, y, z) return lesser(greater(x, y), z) end)
    end
  elseif how == 10 then
    what, real = "set", function() return a[1]:copy():set(b[1]) end
    naive = function() return model.assign(a[2], b[2]) end
  elseif how == 11 then
    what, real = "top", function() return a[1]:top(b[1]) end
    naive = function()
      if type(b[2]) == "boolean" then error("no number") end
      return model.top(a[2], b[2])
    end
    if dice(0, 1) == 0 then
      what, real = "count_by", function() return a[1]:count_by(b[1]) end
      naive = function()
        if type(b[2]) == "boolean" then error("no number") end
        return model.count_by(a[2], b[2])
      end
    end
  else
    local way = dice(0, 1) == 0 and "ascending" or "descending"
    what, real, naive = way, function() return a[1]:order(way) end, function() return model.order(a[2], way) end
    if dice(0, 1) == 0 then
      what, real = "spread", function() return a[1]:spread() end
      naive = function() return model.spread(a[2]) end
    end
  end
  local works, m = pcall(naive)
  local ok, x = pcall(real)
  assert(ok == works, ("%s: %s, but the model: %s"):format(what, x, m))
  if not ok then return end
  compare(x, m, what)
  if is_model(m) then pool[#pool + 1] = { x, m } end
end

-- Random operations on random arrays. Afterwards arrays from rill.array() are unchanged, and arrays of the call refuse
-- every operation.
function tests.random()
  local lengths, views = random_lengths(), {}
  local cells = model.open_frame(lengths)
  views[1] = random_view("a", "cells", cells)
  views[2] = random_view("b", "cells", cells)
  views[3] = random_view("c", "items", #lengths)
  views[4] = random_view("d", "plain", ({ 0, 1, #lengths, cells, dice(0, 20) })[dice(1, 5)])
  local pool = {}
  local contents = engine(lengths, dice(0, 1) * dice(0, 1000), views, function(arrays)
    for i, v in ipairs(views) do
      pool[i] = { arrays[v.name], make(v.level, v.type, v.values) }
      compare(pool[i][1], pool[i][2], "view " .. v.name)
    end
    for _ = 1, dice(1, 30) do random_step(pool) end
    for i, v in ipairs(views) do -- the operations above must not have written to the engine's memory
      compare(pool[i][1], pool[i][2], "view " .. v.name .. " at the end")
      local x = random_operand(pool)
      local works, m = pcall(model.assign, pool[i][2], x[2])
      works = works and v.writable
      local ok, message = pcall(pool[i][1].set, pool[i][1], x[1])
      assert(ok == works, message)
      if ok then pool[i][2].v, v.values = m.v, m.v end
      if ok or not v.writable then compare(pool[i][1], pool[i][2], "view " .. v.name .. " assigned") end
    end
  end)
  for i, v in ipairs(views) do
    if v.writable then v.values = nil else
      for k, x in ipairs(v.values) do assert(same(contents[v.name][k], x), "memory of " .. v.name) end
    end
    fails("a call that is over", function() return pool[i][1][1] end)
  end
  for i = #views + 1, #pool do
    local a, m = pool[i][1], pool[i][2]
    if m.level == "plain" then compare(a, m, "plain, later") else
      fails("a call that is over", function() return #a end)
      fails("a call that is over", function() return a + 1 end)
      fails("a call that is over", function() return a:sum() end)
    end
  end
end

-- --- single cases -------------------------------------------------------------------------------------------------------

-- A call with three items that have three, zero and two candidates.
local function small(run)
  local lengths = { 3, 0, 2 }
  model.open_frame(lengths)
  return engine(lengths, 4, {
    { name = "path_score", type = "float64", level = "cells", values = { -1, -2, -2.5, -7, -7 } },
    { name = "logp", type = "float32", level = "cells", values = { -0.5, -1.5, -1, -0.25, -3 } },
    { name = "parent", type = "int32", level = "cells", values = { 0, 1, 0, 2, 2 } },
    { name = "keep", type = "mask", level = "cells", values = { 1, 1, 1, 1, 1 }, writable = true },
    -- a mask as native functions may leave it
    { name = "odd", type = "mask", level = "cells", values = { 0, 1, 2, 255, 2 } },
    { name = "best", type = "float64", level = "items", values = { -1, -inf, -6 } },
    { name = "k", type = "int32", level = "items", values = { 3, 3, 2 } },
    { name = "id", type = "int64", level = "items", values = { 9007199254740993, 1, 2 } },
    { name = "width", type = "int32", level = "items", values = { 2147483647, 2147483647, 2147483647 }, writable = true },
    { name = "flight", type = "int32", level = "plain", values = { 5, 3, 4 } },
  }, run)
end

local function is(a, ...)
  local expected = { ... }
  assert(#a == #expected, tostring(a))
  for i, x in ipairs(expected) do assert(same(a[i], x), ("%s: element %d is not %s"):format(a, i, x)) end
end

function tests.one_line_heuristics()
  local contents = small(function(b)
    b.keep:set(b.path_score:ge(b.best - 1))
    is(b.keep, 1, 1, 0, 1, 1)
    b.keep:set(b.keep & b.keep:count_by(b.parent):lt(1))
    is(b.keep, 1, 1, 0, 1, 0)
    b.width:set(rill.min(b.width, b.k / 2))
  end)
  assert(table.concat(contents.keep, " ") == "1 1 0 1 0")
  assert(table.concat(contents.width, " ") == "1 1 1")
end

function tests.levels()
  small(function(b)
    is(b.path_score + b.best, -2, -3, -3.5, -13, -13)
    is(b.best:spread(), -1, -1, -1, -6, -6)
    is(b.path_score:max(), -1, -inf, -7)
    is(b.path_score:argmin(), 3, 0, 1)
    is(b.path_score:first() - b.path_score:last(), 1.5, nan, 0)
    assert(b.best:max() == -1 and b.best:argmax() == 1 and b.best:any() == true)
    assert(b.k:sum() == 8 and math.type(b.k:sum()) == "integer" and math.type(b.best:max()) == "float")
    assert(b.id[1] == 9007199254740993 and b.id:copy()[1] == 9007199254740993)
    is(rill.zeros(5) + b.path_score, -1, -2, -2.5, -7, -7)
    is(b.flight:order("descending"), 1, 3, 2)
    fails("3 values do not fit 5 cells", function() return b.flight + b.path_score end)
    fails("5 cells do not fit 3 items", function() b.width:set(b.path_score) end)
    fails("count_by(): keys of items or cells", function() return b.k:count_by(b.path_score) end)
    fails("top(k)", function() return b.best:top(b.k) end)
    fails("top(k)", function() return b.path_score:top(b.path_score) end)
    fails("cannot be spread over segments", function() return b.flight:spread() end)
  end)
end

function tests.masks()
  small(function(b)
    is(b.odd & b.keep, 0, 1, 1, 1, 1)
    is(b.odd | b.odd, 0, 1, 1, 1, 1)
    is(b.odd ~ b.keep, 1, 0, 0, 0, 0)
    is(~b.odd, 1, 0, 0, 0, 0)
    is(b.odd & true, 0, 1, 1, 1, 1)
    is(b.keep:set(b.odd), 0, 1, 1, 1, 1)
    is(b.keep:count(), 2, 0, 2)
    is(b.keep:all(), 0, 1, 1)
    is(b.keep:any(), 1, 0, 1)
    is(rill.where(b.odd, b.path_score, rill.array({ 1, 2, 3, 4, 5 })), 1, -2, -2.5, -7, -7)
    is(b.k:gt(2) & b.odd, 0, 1, 1, 0, 0)
  end)
end

function tests.elements()
  small(function(b)
    assert(b.path_score[5] == -7 and b.path_score[1.0] == -1)
    for _, i in ipairs({ 0, 6, -1, math.maxinteger, math.mininteger }) do
      fails("outside of 1 to 5", function() return b.path_score[i] end)
      fails("outside of 1 to 5", function() b.keep[i] = 1 end)
    end
    fails("outside of 1 to 0", function() return rill.zeros(0)[1] end)
    for _, i in ipairs({ 1.5, nan, inf, {}, true }) do
      fails("whole numbers", function() return b.path_score[i] end)
      fails("whole numbers", function() b.keep[i] = 1 end)
    end
    fails("whole numbers", function() b.keep["1"] = 1 end)
    fails("whole numbers", function() b.keep.x = 1 end)
    fails('no method "1"', function() return b.path_score["1"] end)
    fails('did you mean "sum"?', function() return b.path_score.summ end)
    fails("can only be read", function() b.path_score[1] = 0 end)
    fails("can only be read", function() b.path_score:set(0) end)
    for _, x in ipairs({ nan, inf, 1e300, 2.5, 2147483648, -2147483649 }) do
      fails("cannot be stored in an array of int32", function() b.width[1] = x end)
    end
    b.width[1] = 7.0
    b.width[2] = -2147483648
    is(b.width, 7, -2147483648, 2147483647)
    for _, x in ipairs({ "1", {}, print }) do fails("takes a number, not", function() b.width[1] = x end) end
    fails("takes a number, not boolean", function() b.width[1] = true end)
    fails("takes a number or a boolean, not nil", function() b.keep[1] = nil end)
    b.keep[1], b.keep[2], b.keep[3], b.keep[4] = false, 2.5, nan, 0
    is(b.keep, 0, 1, 1, 0, 1)
    local copy = b.path_score:copy()
    copy[2] = 4
    assert(copy[2] == 4 and b.path_score[2] == -2)
    copy = b.logp:copy()
    copy[1] = 0.1
    assert(copy[1] == string.unpack("f", string.pack("f", 0.1)))
    copy = b.id:copy()
    copy[1] = math.maxinteger
    assert(copy[1] == math.maxinteger)
    fails("cannot be stored in an array of int64", function() copy[1] = 2 ^ 63 end)
  end)
end

function tests.assignment()
  small(function(b)
    for _, case in ipairs({ { 2.9, 2 }, { -2.1, -3 }, { 1e300, 2147483647 }, { -inf, -2147483648 }, { true, 1 } }) do
      b.width:set(case[1])
      is(b.width, case[2], case[2], case[2])
    end
    fails("NaN cannot be stored in an array of int32", function() b.width:set(nan) end)
    fails("NaN cannot be stored in an array of int64", function() b.id:copy():set(b.best - b.best) end)
    is(b.id:copy():set(1e300), math.maxinteger, math.maxinteger, math.maxinteger)
    is(b.id:copy():set(2 ^ 63), math.maxinteger, math.maxinteger, math.maxinteger)
    is(b.id:copy():set(-2 ^ 63), math.mininteger, math.mininteger, math.mininteger)
    is(b.id:copy():set(-1e300), math.mininteger, math.mininteger, math.mininteger)
    is(b.id:copy():set(b.id + 0), 9007199254740992, 1, 2)
    is(b.keep:set(b.best:gt(-2)), 1, 1, 1, 0, 0)
    is(b.keep:set(nan), 1, 1, 1, 1, 1)
    is(b.width:set(rill.array({ 1.5, 2.5, 3.5 })), 1, 2, 3)
    is(b.width:set(b.width), 1, 2, 3)
    for _, x in ipairs({ "1", {}, print }) do fails("number, boolean or array expected", function() b.keep:set(x) end) end
    fails("number, boolean or array expected", function() b.keep:set() end)
    fails("2 values do not fit 3 items", function() b.width:set(rill.zeros(2)) end)
  end)
end

function tests.wrong_types()
  small(function(b)
    for _, x in ipairs({ "10", {}, print }) do
      fails("number or array expected", function() return b.path_score + x end)
      fails("number or array expected", function() return b.path_score:top(x) end)
      fails("number, boolean or array expected", function() return b.path_score:ge(x) end)
      fails("number or array expected", function() return b.path_score:clamp(x, 1) end)
      fails("number, boolean or array expected", function() return b.keep & x end)
      fails("array expected", function() return b.path_score.sum(x) end)
      fails("array expected", function() return b.path_score.rank(x) end)
      fails("array expected", function() return b.path_score.copy(x) end)
      fails("array expected", function() return b.path_score.cumsum(x) end)
    end
    fails("number or array expected, got nil", function() return b.path_score + nil end)
    fails("number or array expected, got boolean", function() return b.path_score + true end)
    fails("array expected, got no value", function() return b.path_score.sum() end)
    fails("number or array expected, got no value", function() return b.path_score:count_by() end)
    fails("methods, which return masks", function() return b.path_score < b.best end)
    fails("methods, which return masks", function() return b.path_score >= 1 end)
    fails("invalid option 'upwards'", function() return b.path_score:order("upwards") end)
    fails("table expected", function() return rill.array(7) end)
    fails("element 2 of the table is a string, not a number", function() return rill.array({ 1, "2" }) end)
    fails("element 2 of the table is a number, not a boolean", function() return rill.array({ true, 2 }) end)
    fails("an array holds numbers or booleans, but element 1 of the table is a string", function() return rill.array({ "x" }) end)
    fails("of at least 0", function() return rill.zeros(-1) end)
    fails("of at least 0", function() return rill.zeros(2147483648) end)
    fails("number expected", function() return rill.zeros("x") end)
    assert(getmetatable(b.path_score) == "array")
  end)
end

function tests.tables_and_text()
  small(function(b)
    assert(tostring(b.path_score) == "cells float64[5] {-1.0, -2.0, -2.5, -7.0, -7.0}", tostring(b.path_score))
    assert(tostring(b.keep) == "cells mask[5] {1, 1, 1, 1, 1}")
    assert(tostring(b.k) == "items int32[3] {3, 3, 2}")
    assert(tostring(rill.zeros(9)) == "plain float64[9] {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ...}")
    assert(tostring(rill.array({})) == "plain float64[0] {}")
    assert(tostring(rill.array({ true, false })) == "plain mask[2] {1, 0}")
    assert(table.concat(b.parent:table(), " ") == "0 1 0 2 2")
    local seen = {}
    for i, x in pairs(b.k) do seen[#seen + 1] = i .. ":" .. x end
    assert(table.concat(seen, " ") == "1:3 2:3 3:2")
    fails("pairs()", function() for _ in ipairs(b.k) do end end)
    assert(rill.max(1, 2) == 2 and rill.min(1, nan) == 1 and rill.where(true, 3, 4) == 3)
  end)
end

-- Only copies by rill.array(), and results made from them, can be used after the call.
function tests.lifetime()
  local kept = {}
  small(function(b)
    for name, a in pairs(b) do kept[name] = a end
    kept.sum, kept.mask, kept.copy = b.path_score + 1, b.path_score:gt(0), b.path_score:copy()
    kept.iterate = { pairs(b.path_score) }
    local plain, id = rill.array(b.path_score), rill.array(b.id)
    small(function(inner) -- in a nested call, each call has arrays of its own
      assert(inner.path_score[1] == -1)
      fails("a call that is over, or interrupted", function() return b.path_score[1] end)
      fails("a call that is over, or interrupted", function() return inner.path_score + b.path_score end)
      is(inner.path_score + plain, -2, -4, -5, -14, -14)
    end)
    assert(b.path_score[1] == -1)
    kept.plain, kept.id64 = plain, id
  end)
  is(kept.plain * 2, -2, -4, -5, -14, -14)
  is(kept.id64, 9007199254740993, 1, 2)
  local f, a, i = table.unpack(kept.iterate)
  fails("a call that is over", f, a, i)
  for name, x in pairs(kept) do
    if name ~= "plain" and name ~= "id64" and name ~= "iterate" then
      assert(tostring(x) == "array of a call that is over", name)
      for _, use in ipairs({
        function() return x[1] end, function() x[1] = 0 end, function() return #x end, function() return pairs(x) end,
        function() return x + 1 end, function() return kept.plain + x end, function() return x:max() end,
        function() return x:rank() end, function() return x:index() end, function() return x:top(1) end,
        function() return x:softmax() end, function() return x:count_by(1) end, function() return x:order() end,
        function() return x:copy() end, function() return x:table() end, function() return x:set(0) end,
        function() return x:spread() end, function() return rill.array(x) end, function() return rill.where(x, 1, 2) end,
        function() return kept.plain:set(x) end, function() return kept.plain:top(x) end,
      }) do fails("a call that is over", use) end
    end
  end
end

function tests.sorting()
  for _, n in ipairs({ 0, 1, 2, 15, 16, 17, 33, 500, 513, 3000 }) do
    local t, by_value = {}, {}
    for i = 1, n do t[i], by_value[i] = dice(0, n // 2), i end
    table.sort(by_value, function(i, j) return t[i] < t[j] or t[i] == t[j] and i < j end)
    local a = rill.array(t)
    is(a:order(), table.unpack(by_value))
    local ranks_of, r = {}, a:rank()
    for place, i in ipairs(a:order("descending"):table()) do ranks_of[i] = place end
    is(r, table.unpack(ranks_of))
    local sorted = a:order("descending")
    for p = 2, n do
      local x, y = t[sorted[p - 1]], t[sorted[p]]
      assert(x > y or x == y and sorted[p - 1] < sorted[p], "stable")
    end
  end
end

-- Counting of keys: few, many, negative, fractional, and too large for a table of counts.
function tests.counting()
  for _, case in ipairs({ { 3, 0, 1 }, { 100000, 0, 1 }, { 5, -3, 1 }, { 5, 0, 0.5 }, { 4, 2 ^ 40, 1 }, { 3, 0, 1e9 } }) do
    local keys, seen, expected = {}, {}, {}
    for i = 1, 800 do
      local k = dice(0, case[1]) * case[3] + case[2]
      keys[i], expected[i] = k, seen[k] or 0
      seen[k] = expected[i] + 1
    end
    local a = rill.array(keys)
    is(a:count_by(a), table.unpack(expected))
    if a:abs():max() < 2 ^ 30 then is(a:count_by(a:order():set(a * 2)), table.unpack(expected)) end -- int32 keys
  end
  is(rill.array({ nan, nan, 0.0, -0.0, nan }):count_by(rill.array({ nan, nan, 0.0, -0.0, nan })), 0, 0, 0, 1, 0)
  is(rill.zeros(3):count_by(7), 0, 1, 2)
end

return tests
