"""A simple beam search, written for correctness and not for speed: the reference for rill's search.

It is the search that rill calls finish "top": an ended candidate stays in the beam with its score, and becomes an output only when it
leads the beam.
"""

from dataclasses import dataclass, field


@dataclass
class Search:
    k: int = 10
    absolute: float = 10.0
    max_candidates: int = 3
    stop_after: int = 0  # number of outputs that ends the search; 0: k
    max_length: int = 100
    end: int = 1  # the end action of semantic parsers


@dataclass
class Candidate:
    score: float
    actions: tuple
    row: int = -1        # row of the decoder state after `actions`
    ended: bool = False
    truncated: bool = False


@dataclass
class Item:
    live: list
    outputs: list = field(default_factory=list)
    done: bool = False


def advance(item, rows, scores, actions, search, depth):
    """Run one timestep of one item: steps 2 to 7 of rill's definition of the search."""
    children = []
    for rank, candidate in enumerate(item.live):
        if candidate.ended:
            children.append((-candidate.score, rank, search.end, candidate))
            continue
        row = rows[id(candidate)]
        for score, action in zip(scores[row], actions[row]):
            if score == float("-inf"):
                continue
            ended = action == search.end
            grown = candidate.actions if ended else candidate.actions + (action,)
            child = Candidate(candidate.score + score, grown, row, ended)
            children.append((-child.score, rank, action, child))
    children.sort(key=lambda c: c[:3])
    beam = [c[3] for c in children[:search.k]]

    while beam and beam[0].ended:
        item.outputs.append(beam.pop(0))
    best = max([c.score for c in beam[:1]] + [o.score for o in item.outputs])
    beam = [c for c in beam if c.score >= best - search.absolute]
    beam = beam[:max(0, search.k - len(item.outputs))]

    # The first candidate of the beam is live here, because ended ones before it have become outputs.
    if len(item.outputs) >= (search.stop_after or search.k) or not beam:
        item.done = True
    elif depth >= search.max_length:
        for candidate in beam:
            candidate.truncated = not candidate.ended
        item.outputs += beam
        item.done = True
    item.live = [] if item.done else beam
