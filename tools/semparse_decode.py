"""A plain beam decoder, by plain_search.py, and the measures of semantic parsing."""

from dataclasses import dataclass

import torch

from plain_search import Candidate, Item, Search, advance
from semparse_model import START, frame_source, pad


@torch.no_grad()
def beam_search(model, sources, search):
    """Return the n-best lists [(score, actions, truncated)], the number of expansions, and the number of timesteps."""
    model.eval()
    framed, lengths = pad([frame_source(s) for s in sources])
    memory, mask, (h, c) = model.encode(framed, lengths)
    items = [Item([Candidate(0.0, (), i)]) for i in range(len(sources))]
    expansions = depth = 0
    while not all(item.done for item in items):
        depth += 1
        live = [(i, cand) for i, item in enumerate(items) for cand in item.live
                if not cand.ended]
        owner = torch.tensor([i for i, _ in live])
        parent = torch.tensor([cand.row for _, cand in live])
        inputs = torch.tensor([[cand.actions[-1] if cand.actions else START]
                               for _, cand in live])
        expansions += len(live)
        logp, (h, c) = model.decode(inputs, memory[owner], mask[owner],
                                    (h[:, parent].contiguous(), c[:, parent].contiguous()))
        # Stable sort: of equal scores the smaller action id comes first.
        scores, actions = logp[:, 0].sort(dim=1, descending=True, stable=True)
        width = min(search.max_candidates, scores.shape[1])
        scores, actions = scores[:, :width].tolist(), actions[:, :width].tolist()
        rows = {id(cand): row for row, (_, cand) in enumerate(live)}
        for item in items:
            if not item.done:
                advance(item, rows, scores, actions, search, depth)
    results = []
    for item in items:
        ranked = sorted(item.outputs, key=lambda o: -o.score)
        results.append([(o.score, list(o.actions), o.truncated) for o in ranked])
    return results, expansions, depth


def greedy(model, sources, max_length):
    """Return the best action at each step: a beam of one."""
    search = Search(k=1, absolute=float("inf"), max_candidates=1, max_length=max_length)
    return [nbest[0][1] for nbest in beam_search(model, sources, search)[0]]


# --- exact match ---------------------------------------------------------------------------

def canonical(tokens):
    """Return the logical form with the children of `and` and `or` sorted, as one string.

    Their order carries no meaning. A form whose brackets do not match is left as it is: it can
    only equal itself. Forms without such nodes (Prolog) come back unchanged.
    """
    stack = [[]]
    for token in tokens:
        if token == "(":
            stack.append([])
        elif token == ")":
            if len(stack) == 1:
                return " ".join(tokens)
            children = stack.pop()
            if children and children[0] in ("and", "or"):
                children[1:] = sorted(children[1:])
            stack[-1].append(" ".join(["("] + children + [")"]))
        else:
            stack[-1].append(token)
    return " ".join(stack[0]) if len(stack) == 1 else " ".join(tokens)


@dataclass
class Quality:
    exact: float
    oracle: float
    expansions: int = 0
    timesteps: int = 0
    right: list = None  # for each pair, 1 if the best output is correct

    def __str__(self):
        return (f"exact {self.exact:.2f} oracle {self.oracle:.2f} "
                f"expansions {self.expansions} timesteps {self.timesteps}")


def evaluate(model, pairs, source, target, search, n_best=10):
    """Return exact match of the best output, and of any of the n best, in percent."""
    sources = [source.encode(question) for question, _ in pairs]
    results, expansions, timesteps = beam_search(model, sources, search)
    right, oracle = [], 0
    for nbest, (_, gold) in zip(results, pairs):
        gold = canonical(gold)
        found = [canonical(target.decode(actions)) == gold
                 for _, actions, _ in nbest[:n_best]]
        right.append(int(found[0]))
        oracle += any(found)
    scale = 100.0 / len(pairs)
    return Quality(sum(right) * scale, oracle * scale, expansions, timesteps, right)


def evaluate_greedy(model, pairs, source, target, max_length):
    """Return exact match of greedy decoding, in percent."""
    outputs = greedy(model, [source.encode(q) for q, _ in pairs], max_length)
    right = [canonical(target.decode(o)) == canonical(gold)
             for o, (_, gold) in zip(outputs, pairs)]
    return 100.0 * sum(right) / len(pairs)
