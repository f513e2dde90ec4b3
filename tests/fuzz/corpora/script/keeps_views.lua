-- ok
local kept = {}
rill.heuristic{
  name = "hoarder",
  apply = function(b)
    for _, v in ipairs(kept) do
      assert(not pcall(function() return v.n end) and not pcall(function() return v[1] end) and not pcall(function() v[1] = 1 end))
      assert(not pcall(function() return #v end) or true)
    end
    kept = {b, b.path_score, b.keep, b.best, b.path_score + 1}
    assert(not pcall(function() return b.path_score[0] end) and not pcall(function() return b.path_score[b.size + 1] end))
    assert(not pcall(function() b.path_score[1] = 1 end) and not pcall(function() b.nothing = 1 end))
  end,
}
