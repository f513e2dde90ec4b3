-- ok
rill.heuristic{
  name = "cut", arguments = "D", create = function(text) return tonumber(text) end,
  apply = function(b, d)
    b.keep = b.path_score:ge(b.best - d)
    b:narrow(2)
    b:halt(b.outputs:gt(1))
    local mask = (b.action_logp:exp():rank():le(2) | b.ended) & ~b.path_score:eq(rill.dead)
    b:drop(~mask)
    for i = 1, b.n do local first, last = b:range(i) for j = first, last do local x = b.path_score[j] + b.parent_rank[j] end end
  end,
}
