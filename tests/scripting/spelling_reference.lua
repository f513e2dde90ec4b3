-- Reference for examples/lua/spelling.lua: scores every line of words up to a length as a whole and prints the best as
-- "SCORE TEXT". The caller prepends two locals: WORDS, the text to learn from, and TYPED.

local EXTRA, MISSING, SWAPPED, WRONG, NEIGHBOUR, BLANK = -6.0, -6.0, -4.5, -7.0, -5.0, -2.0
local ROWS = " qwertyuiop asdfghjkl zxcvbnm "

-- Count words and pairs of words.
local uni, total, pairs_of, heads = {}, 0, {}, {}
for sentence in WORDS:gmatch("[^.]+") do
  local before = ""
  for word in sentence:gmatch("%a+") do
    uni[word] = (uni[word] or 0) + 1
    total = total + 1
    pairs_of[before .. " " .. word] = (pairs_of[before .. " " .. word] or 0) + 1
    heads[before] = (heads[before] or 0) + 1
    before = word
  end
end

local function word_logp(before, word)
  local alone = uni[word] / total
  if not heads[before] then return math.log(alone) end
  return math.log(0.4 * alone + 0.6 * (pairs_of[before .. " " .. word] or 0) / heads[before])
end

-- Log-probability of typing TYPED when `meant` was intended, by memoised recursion over the two positions.
local function typing_logp(meant)
  local memory = {}
  local function slip(a, b)
    if a == b then return 0 end
    local cost = (a ~= " " and b ~= " " and (ROWS:find(a .. b, 1, true) or ROWS:find(b .. a, 1, true))) and NEIGHBOUR or WRONG
    return cost + ((a == " " or b == " ") and BLANK or 0)
  end
  local function best(i, j)
    local key = i * 1000 + j
    if memory[key] then return memory[key] end
    local m, t = meant:sub(i, i), TYPED:sub(j, j)
    local value = -math.huge
    if m == "" and t == "" then value = 0 end
    if m ~= "" and t ~= "" then value = math.max(value, slip(t, m) + best(i + 1, j + 1)) end
    if t ~= "" then value = math.max(value, EXTRA + best(i, j + 1)) end
    if m ~= "" then value = math.max(value, MISSING + (m == " " and BLANK or 0) + best(i + 1, j)) end
    local next_m, next_t = meant:sub(i + 1, i + 1), TYPED:sub(j + 1, j + 1)
    if m ~= "" and next_m ~= "" and m == next_t and next_m == t then
      value = math.max(value, SWAPPED + best(i + 2, j + 2))
    end
    memory[key] = value
    return value
  end
  return best(1, 1)
end

local found = {}
local function grow(text, before, logp)
  for word in pairs(uni) do
    local line = text == "" and word or text .. " " .. word
    if #line <= #TYPED + 5 then
      local so_far = logp + word_logp(before, word)
      found[#found + 1] = {line = line, score = so_far + math.log(0.1) + typing_logp(line)}
      grow(line, word, so_far + math.log(0.9))
    end
  end
end
grow("", "", 0)
table.sort(found, function(a, b)
  if a.score ~= b.score then return a.score > b.score end
  return a.line < b.line
end)
for i = 1, 12 do print(("%.17g %s"):format(found[i].score, found[i].line)) end
