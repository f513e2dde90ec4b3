-- A spelling corrector: a complete domain in Lua.
--
--     echo "teh old hose by teh watre" | rill decode --plugin examples/lua/spelling.lua --domain spelling
--     the old house by the water
--
-- The intended text is built letter by letter. Each letter adds two log-probabilities: of the language (how likely is
-- this letter after the text so far?) and of the typing (if this text was intended, how likely is the typed text?). The
-- sum is log P(meant) + log P(typed | meant), so the best hypothesis is the best correction: the noisy channel of
-- Kernighan, Church and Gale (1990), with words in context.
--
--   actions   the letters, the space, and an end action named "end"
--   a state   a position in the language model (a node in a trie of words) and in the typing (a row of the
--             dynamic-programming table that compares two texts)
--
-- The language is learned from the text words.txt in the model directory or, without a model, from the text below.

local TEXT = [[
the old house stood near the water and the people of the village said that it was the first house that was ever built
there. every day the boy went down to the water to look for his father. he would sit under the big tree and think
about the world. there was a small light in the window when the night came and the wind was high. his mother would
call him home before dark. what did you find today she would ask. i did not find much he would say but i have seen a
bird that could not fly. we must help each other said the mother. that is what people do when the year is hard and the
days are short. in the morning they went through the garden and along the road to the market. many people came there
to sell what they had made. some had bread and milk and some had apples and cheese. one old man had only a book and he
could not read it. can you read this he asked the boy. yes i can said the boy and he began to read. it was a story
about a king who lost his name. the king went from place to place and asked everyone he met do you know who i am. no
one could tell him and no one would try. at last he came to a river where three women were at work. they knew him at
once because he still had the hands of a king. your name is where you left it said the first. you will find it when
you stop looking for it said the second. give us your hands and we will give you your name said the third. so the king
gave them his hands and learned to work. the boy closed the book and thought about it for a long time. is that the end
asked the old man. that is the end said the boy. then i will write another one said the old man because a story should
not end like that. he took a piece of paper and began. it is a good thing to know how to write and how to spell. a
letter is a small thing but words are made of letters. if you change one letter you may change the whole meaning. then
people will not understand what you want to tell them. she said that her brother should have been here by now. they
were going to take the train to the city and see the school. after the school they want to go to the library and read
about the sea. their friend knows where all the good books are. which way is right he asked. turn left at the bridge
then go on until you see a white house with a green door. it will not take you very long. just follow the line of
trees and you will hear the sound of the water again. these are the same two men who were here last week. they never
talk much but they always work well and never ask for more. most of them think that it would be better to wait. we
think that it is better to begin with a little and to learn from it. the water is cold in winter and warm in summer.
when it rains the river is high and the children play inside. please write your name and your address on the first
line of the form and send it back before the end of the month. thank you for your letter which i received with great
pleasure. i hope that you and your family are well and happy. i am sorry that i could not come to see you yesterday
but there was too much work and too little time. tomorrow will be another day and perhaps the weather will be
beautiful. we could walk together along the beach. nothing is really different she thought but everything feels new.
she opened the window and looked out over the quiet street.
]]

-- Log-probabilities of typing errors. Typing the intended letter costs nothing; neighbours on the keyboard are
-- easily confused.
local EXTRA, MISSING, SWAPPED, WRONG, NEIGHBOUR, BLANK = -6.0, -6.0, -4.5, -7.0, -5.0, -2.0
local MORE, STOP = math.log(0.9), math.log(0.1) -- after a word: probability of another word, and of the end
local BIGRAM = 0.6 -- weight of the bigram distribution given the previous word; 1 - BIGRAM is that of the unigram distribution

local ACTIONS, NEIGHBOURS = {}, {}
for letter in ("abcdefghijklmnopqrstuvwxyz "):gmatch(".") do ACTIONS[#ACTIONS + 1] = letter end
ACTIONS[#ACTIONS + 1] = "end"
for row in ("qwertyuiop asdfghjkl zxcvbnm"):gmatch("%a+") do
  for i = 2, #row do
    NEIGHBOURS[row:sub(i - 1, i)], NEIGHBOURS[row:sub(i - 1, i):reverse()] = true, true
  end
end

-- The language ------------------------------------------------------------------------------------------------------

-- A node of a trie. `mass` is the number of words that begin with the node's prefix, `words` the number of those
-- that end there.
local function new_place() return {mass = 0, words = 0, after = {}} end

local function count(place, word)
  place.mass = place.mass + 1
  for letter in word:gmatch(".") do
    place.after[letter] = place.after[letter] or new_place()
    place = place.after[letter]
    place.mass = place.mass + 1
  end
  place.words = place.words + 1
end

-- Builds a trie of all words, and for each word a trie of the words that follow it; "" stands for the start of the
-- text.
local function learn(text)
  local language = {all = new_place(), behind = {}}
  for sentence in text:lower():gmatch("[^.]+") do
    local before = ""
    for word in sentence:gmatch("%a+") do
      count(language.all, word)
      language.behind[before] = language.behind[before] or new_place()
      count(language.behind[before], word)
      before = word
    end
  end
  return language
end

-- Returns the position at the start of a word: at the root of the trie of all words, and of the trie for the
-- previous word if there is one.
local function begin_word(language, before)
  local root = language.behind[before]
  return {all = language.all, near = root, share = root and BIGRAM or 0, all_mass = language.all.mass,
          near_mass = root and root.mass or 1, word = ""}
end

-- Returns an interpolated probability from two counts of words: in the trie of all words, and in the trie for the
-- previous word.
local function mix(at, all, near) return (1 - at.share) * all / at.all_mass + at.share * near / at.near_mass end

local function mass(at) return mix(at, at.all.mass, at.near and at.near.mass or 0) end

local function go_down(at, letter)
  return {all = at.all.after[letter], near = at.near and at.near.after[letter], share = at.share,
          all_mass = at.all_mass, near_mass = at.near_mass, word = at.word .. letter}
end

-- The typing --------------------------------------------------------------------------------------------------------

-- Converts to lower case, with single spaces between words and none at the ends.
local function clean(text) return (text:lower():gsub("%s+", " "):match("^ ?(.-) ?$")) end

-- Returns the first row of the table: no letter was intended, so every typed letter is an extra one. row[j + 1] is
-- the best log-probability of typing the first j letters when the text so far was intended.
local function first_row(typed)
  local row = {0}
  for j = 1, #typed do row[j + 1] = row[j] + EXTRA end
  return row
end

local function slip(typed, meant)
  if typed == meant then return 0 end
  local cost = NEIGHBOURS[typed .. meant] and NEIGHBOUR or WRONG
  return (typed == " " or meant == " ") and cost + BLANK or cost
end

-- Returns the row after one more intended letter, and its maximum. `state` has the previous row and, for swapped
-- letters, the row before that.
local function next_row(typed, state, letter)
  local old, older, last = state.row, state.row_before, state.letter
  local missing = letter == " " and MISSING + BLANK or MISSING
  local row, top = {old[1] + missing}, old[1] + missing
  for j = 1, #typed do
    local value = old[j] + slip(typed[j], letter)
    value = math.max(value, row[j] + EXTRA, old[j + 1] + missing)
    if older and j > 1 and typed[j] == last and typed[j - 1] == letter then
      value = math.max(value, older[j - 1] + SWAPPED)
    end
    row[j + 1] = value
    if value > top then top = value end
  end
  return row, top
end

-- The domain --------------------------------------------------------------------------------------------------------

-- Returns the state after a letter. `best` is an upper bound of the final typing log-probability: the maximum of the
-- state's row, or of the previous row in case two letters turn out to be swapped. A letter's score is its language
-- log-probability plus the change of `best`. The end action replaces `best` by the last value of the row, where all
-- typed letters are used. So a hypothesis's scores add up to exactly log P(meant) + log P(typed | meant), and none
-- is above 0.
local function behind(state, letter, at)
  local row, top = next_row(state.typed, state, letter)
  local best = math.max(top, state.top + SWAPPED)
  return {typed = state.typed, at = at, row = row, top = top, best = best, row_before = state.row, letter = letter}
end

rill.domain{
  name = "spelling",
  summary = "corrects the spelling of a line of English words",
  actions = ACTIONS,
  end_action = "end",
  separator = "",

  open = function(options)
    local language = learn(options.path and options.read("words.txt") or TEXT)
    if language.all.mass == 0 then return nil, "words.txt has no words to learn from" end
    return language, {description = ("learned from %d words"):format(language.all.mass)}
  end,

  start = function(language, input)
    local text, typed = clean(input.text), {}
    local odd = text:match("[^a-z ][\128-\191]*") -- all bytes of a UTF-8 character
    if odd then return nil, ("'%s' is neither a letter nor a space"):format(odd) end
    for letter in text:gmatch(".") do typed[#typed + 1] = letter end
    local state = {typed = typed, at = begin_word(language, ""), row = first_row(typed), top = 0, best = 0}
    return state, {size = #typed, max_length = 2 * #typed + 8}
  end,

  -- Rows are computed for the letters that can continue the word, and for the space after it. The resulting states are
  -- stored in state.after, so advance() only has to select one.
  choices = function(language, state)
    local scores, at, here = {}, state.at, mass(state.at)
    state.after = {}
    for letter, place in pairs(at.all.after) do
      local after = behind(state, letter, go_down(at, letter))
      state.after[letter] = after
      scores[letter] = math.log(mass(after.at) / here) + after.best - state.best
    end
    if at.all.words > 0 then
      local ends = math.log(mix(at, at.all.words, at.near and at.near.words or 0) / here)
      local after = behind(state, " ", begin_word(language, at.word))
      state.after[" "] = after
      scores[" "] = ends + MORE + after.best - state.best
      scores["end"] = ends + STOP + state.row[#state.row] - state.best
    end
    return scores
  end,

  advance = function(language, state, action) return state.after[action] end,

  canonical = clean,
}
