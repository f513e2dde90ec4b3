-- Finds the line of a configuration key. Lua stores no line numbers for tables, so the source text is scanned.
--
-- The scanner knows only Lua's words, strings, comments and blocks. If the script ends with `return {`, it looks for
-- keys at their depth inside these braces, which is exact for keys written there. If the table was built elsewhere,
-- it takes the first assignment to a variable or field of that name.
local own = ...
local find, match, sub = string.find, string.match, string.sub

local BLOCKS = { ["function"] = 1, ["do"] = 1, ["if"] = 1, ["repeat"] = 1, ["end"] = -1, ["until"] = -1 }
local BRACES = { ["{"] = 1, ["}"] = -1 }

-- --- tokens --------------------------------------------------------------------------------------------------------------

-- Returns the contents of the long bracket [[...]] that begins at a position, and the position after it; nil if none
-- begins there.
local function long_text(text, at)
  local level = match(text, "^%[(=*)%[", at)
  if not level then return nil end
  local first = at + #level + 2
  local stop, last = find(text, "]" .. level .. "]", first, true)
  return sub(text, first, (stop or 0) - 1), (last or #text) + 1
end

local function quoted_text(text, at)
  local ends, from = "[\\\n" .. sub(text, at, at) .. "]", at + 1
  local stop = find(text, ends, from)
  while stop and sub(text, stop, stop) == "\\" do stop = find(text, ends, stop + 2) end
  return sub(text, from, (stop or 0) - 1), (stop or #text) + 1
end

local function skip_blank(text, at)
  at = find(text, "%S", at)
  while at and sub(text, at, at + 1) == "--" do
    local _, behind = long_text(text, at + 2)
    at = find(text, "%S", behind or find(text, "\n", at, true) or #text + 1)
  end
  return at
end

-- Advances the scanner `s` to the next token. s.kind is "word", "text" or "sign", s.word the token's text, s.at the
-- position after it. s.blocks and s.braces are the numbers of open blocks and braces. Returns false at the end.
local function step(s)
  local text = s.text
  local at = skip_blank(text, s.at)
  s.at, s.kind = at or #text + 1, nil
  if not at then return false end
  local word, behind = long_text(text, at)
  if not word and find(text, "^[\"']", at) then word, behind = quoted_text(text, at) end
  s.kind, s.word, s.at = "text", word, behind
  if word then return true end
  word = match(text, "^[%w_]+", at)
  s.kind = word and "word" or "sign"
  s.word = word or match(text, "^[=<>~]=", at) or sub(text, at, at)
  s.at = at + #s.word
  s.blocks = s.blocks + (word and BLOCKS[word] or 0)
  s.braces = s.braces + (BRACES[s.word] or 0)
  return true
end

local function copy(s)
  return { text = s.text, at = s.at, kind = s.kind, word = s.word, blocks = s.blocks, braces = s.braces }
end

local function is_sign(s, sign)
  return s.kind == "sign" and s.word == sign
end

-- --- keys ----------------------------------------------------------------------------------------------------------------

local function line_of(s)
  local _, newlines = string.gsub(sub(s.text, 1, s.at - 1), "\n", "")
  return newlines + 1
end

-- Returns a scanner after the script's final return, which is outside all blocks; nil if there is none.
local function find_return(start)
  local s, found = copy(start), nil
  while step(s) do
    if s.kind == "word" and s.word == "return" and s.blocks == 0 then found = copy(s) end
  end
  return found
end

-- Returns true if the scanner is after NAME or after "NAME" in ["NAME"], and a single "=" follows.
local function is_assigned(s)
  local ahead = copy(s)
  if step(ahead) and s.kind == "text" and is_sign(ahead, "]") then step(ahead) end
  return is_sign(ahead, "=")
end

-- Advances to the next assignment to `name`, at this depth of braces if a depth is given. Returns false if there is
-- none.
local function find_key(s, name, depth)
  while step(s) and (not depth or s.braces >= depth) do
    local here = not depth or s.braces == depth and s.blocks == 0
    if here and s.kind ~= "sign" and s.word == name and is_assigned(s) then return true end
  end
  return false
end

-- Advances into the braces of the current key's value: {...}, rill.sweep{...}, rill.sweep({...}). Returns false if
-- the value has none.
local function enter(s)
  step(s) -- the "="
  repeat step(s) until s.kind ~= "word" and not is_sign(s, ".") and not is_sign(s, "(")
  return is_sign(s, "{")
end

-- Returns the line where the returned table has the key at `path` ("options.k", "heuristics[2]"). If the key is not
-- found, returns the line of an outer key or of the return statement; 0 if neither is found. The result is a guess,
-- since the text is scanned, not run.
function own.line(text, path)
  local s, depth = { text = text, at = 1, blocks = 0, braces = 0 }, nil
  local behind = find_return(s)
  local line, ahead = behind and line_of(behind) or 0, behind and copy(behind)
  if ahead and step(ahead) and is_sign(ahead, "{") then s, depth = ahead, behind.braces end
  local outer = false
  for name in string.gmatch(path, "([^.%[]+)[^.]*%.?") do
    if outer and depth and not enter(s) then break end
    depth = depth and depth + 1
    if not find_key(s, name, depth) then break end
    line, outer = line_of(s), true
  end
  return line
end
