"""Reference decoding and measuring for the shift-reduce parser: greedy and beam search with two
phases per timestep, and labelled bracketing as EVALB counts it with COLLINS.prm.

rill's search does the same in C; this one is for choosing recipes and for expected results.
"""

from collections import Counter

import numpy as np
import torch

from shiftreduce_model import COMBINE, NONE, SHIFT, Batch, Input

PUNCTUATION = {",", ":", "``", "''", "."}  # part-of-speech tags that COLLINS.prm deletes


class Search:
    """The settings that determine the outputs of a beam search."""

    def __init__(self, k=10, absolute=2.5, max_candidates=3):
        self.k, self.absolute, self.max_candidates = k, absolute, max_candidates


# --- scores --------------------------------------------------------------------------------------------------------------

class Scorer:
    """The log-probabilities of a sentence's states, from tables with a row per position."""

    def __init__(self, parser, symbols, arrays, length):
        (self.structure_table, self.structure_rest, self.label_table, self.label_rest) = arrays
        self.weights = [p.detach().numpy() for p in (
            parser.structure_output.weight, parser.structure_output.bias,
            parser.label_output.weight, parser.label_output.bias)]
        self.net = self.structure_rest.shape[0]
        self.is_root, self.length = symbols.is_root, length

    @staticmethod
    def log_softmax(logits):
        top = logits.max(1, keepdims=True)
        return logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True))

    def structure(self, a, b, c):
        d = self.net
        table = self.structure_table
        hidden = table[a, :d] + table[b, d:2 * d] + table[c, 2 * d:] + self.structure_rest
        return self.log_softmax(np.maximum(hidden, 0) @ self.weights[0].T + self.weights[1])

    def label(self, b, c, last):
        d = self.net
        table = self.label_table
        hidden = table[b, :d] + table[c, d:] + self.label_rest
        logits = np.maximum(hidden, 0) @ self.weights[2].T + self.weights[3]
        logits[:, self.is_root != last] = -np.inf
        return self.log_softmax(logits)


@torch.no_grad()
def scorers(parser, symbols, sentences, given_tags, batch=32):
    """Return (scorer, tag ids) of every sentence in order; tags are predicted unless they are given."""
    results = [None] * len(sentences)
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    for start in range(0, len(order), batch):
        chosen = order[start:start + batch]
        inputs = Batch([Input(symbols, sentences[i].words, sentences[i].tags if given_tags else None)
                        for i in chosen])
        h1, logits = parser.tag(inputs)
        tags = inputs.tags if given_tags else parser.predicted(logits, inputs.lengths)
        arrays = [t.numpy() for t in parser.tables(parser.positions(h1, tags, inputs.lengths), inputs.lengths)]
        for row, i in enumerate(chosen):
            n = len(sentences[i])
            parts = (arrays[0][row, :n + 1], arrays[1][row], arrays[2][row, :n + 1], arrays[3][row])
            results[i] = Scorer(parser, symbols, parts, n), tags[row, 1:n + 1].tolist()
    return results


# --- search --------------------------------------------------------------------------------------

class Candidate:
    """A hypothesis; the stack is a linked list of span boundaries, (boundary, rest), that hypotheses share."""

    __slots__ = ("score", "stack", "depth", "end", "history")

    def __init__(self, score, stack, depth, end, history):
        self.score, self.stack, self.depth, self.end, self.history = score, stack, depth, end, history

    def actions(self):
        """Return (structure, label) of every timestep."""
        flat, node = [], self.history
        while node:
            flat.append(node[0])
            node = node[1]
        flat.reverse()
        return list(zip(flat[::2], flat[1::2]))

    def structure(self, action, logp):
        """Take a structure action: shift begins a span at its word, combine removes the boundary between two spans."""
        history = (action, self.history)
        if action == SHIFT:
            return Candidate(self.score + logp, (self.end, self.stack), self.depth + 1, self.end + 1, history)
        return Candidate(self.score + logp, self.stack[1], self.depth - 1, self.end, history)

    def label(self, action, logp):
        return Candidate(self.score + logp, self.stack, self.depth, self.end, (action, self.history))


def spans_of(actions, symbols):
    """Return the labelled spans that a sequence of (structure, label) builds."""
    stack, end, spans = [], 0, {}
    for structure, label in actions:
        if structure == SHIFT:
            stack.append(end)
            end += 1
        else:
            stack.pop()
        if label != NONE:
            spans[stack[-1], end] = symbols.labels.tokens[label]
    return spans


def structure_children(scorer, beam):
    """Return (parent rank, action, log-probability) of all children; a forced action has log-probability 0."""
    children, open_ranks = [], []
    for rank, c in enumerate(beam):
        shift, combine = c.end < scorer.length, c.depth >= 2
        if shift and combine:
            open_ranks.append(rank)
        else:
            children.append((rank, SHIFT if shift else COMBINE, 0.0))
    if open_ranks:
        a, b, c = (np.array(x) for x in zip(*((beam[r].stack[1][0], beam[r].stack[0], beam[r].end)
                                              for r in open_ranks)))
        for rank, row in zip(open_ranks, scorer.structure(a, b, c)):
            children += [(rank, action, float(row[action])) for action in (SHIFT, COMBINE)]
    return children


def label_children(scorer, beam, last, most):
    b = np.array([c.stack[0] for c in beam])
    c = np.array([c.end for c in beam])
    children = []
    for rank, row in enumerate(scorer.label(b, c, last)):
        best = np.argsort(-row, kind="stable")[:most]
        children += [(rank, int(i), float(row[i])) for i in best if row[i] > -np.inf]
    return children


def keep(beam, children, k, absolute, extend):
    """Keep the k best children, ordered by score, parent rank and action, and of these the ones close enough to the best."""
    ranked = sorted(children, key=lambda x: (-(beam[x[0]].score + x[2]), x[0], x[1]))[:k]
    kept = [extend(beam[rank], action, logp) for rank, action, logp in ranked]
    return [c for c in kept if c.score >= kept[0].score - absolute]


def beam_search(scorer, search):
    """Return the finished candidates, best first, and how many live ones were expanded."""
    beam, expansions = [Candidate(0.0, None, 0, 0, None)], 0
    for step in range(2 * scorer.length - 1):
        last = step == 2 * scorer.length - 2
        expansions += len(beam)
        beam = keep(beam, structure_children(scorer, beam), search.k, search.absolute, Candidate.structure)
        children = label_children(scorer, beam, last, search.max_candidates)
        # Ended candidates leave the beam before pruning, so the last step has no threshold.
        beam = keep(beam, children, search.k, np.inf if last else search.absolute, Candidate.label)
    return beam, expansions


def greedy_search(scorer):
    return beam_search(scorer, Search(1, np.inf, 1))[0][0]


# --- labelled bracketing ---------------------------------------------------------------------------

class Counts:
    def __init__(self):
        self.matched = self.gold = self.test = self.exact = self.sentences = 0

    def add(self, gold, test):
        matched = sum((gold & test).values())
        self.matched += matched
        self.gold += sum(gold.values())
        self.test += sum(test.values())
        self.exact += matched == sum(gold.values()) == sum(test.values())
        self.sentences += 1

    @property
    def f1(self):
        return 200.0 * self.matched / max(1, self.gold + self.test)

    def __str__(self):
        return (f"P {100.0 * self.matched / max(1, self.test):.2f} R {100.0 * self.matched / max(1, self.gold):.2f} "
                f"F1 {self.f1:.2f} exact {100.0 * self.exact / max(1, self.sentences):.2f}")


def brackets(tags, spans):
    """Return the brackets that EVALB counts with COLLINS.prm: no TOP, no punctuation in spans (by the gold tags), ADVP = PRT."""
    before = np.cumsum([0] + [tag not in PUNCTUATION for tag in tags])
    found = Counter()
    for (begin, end), chain in spans.items():
        if before[begin] == before[end]:
            continue
        for label in chain.split("+"):
            if label != "TOP":
                found["ADVP" if label == "PRT" else label, int(before[begin]), int(before[end])] += 1
    return found


def f1_of(gold, test):
    total = sum(gold.values()) + sum(test.values())
    return 2.0 * sum((gold & test).values()) / total if total else 1.0


class Quality:
    """Bracketing of the best output and of the best one possible, tagging accuracy, and expansions."""

    def __init__(self):
        self.first, self.oracle = Counts(), Counts()
        self.tags = self.right_tags = self.expansions = 0

    def add(self, sentence, tags, outputs):
        gold = brackets(sentence.tags, sentence.spans)
        tests = [brackets(sentence.tags, spans) for spans in outputs]
        self.first.add(gold, tests[0])
        self.oracle.add(gold, max(tests, key=lambda test: f1_of(gold, test)))
        self.tags += len(tags)
        self.right_tags += sum(a == b for a, b in zip(tags, sentence.tags))

    def __str__(self):
        return (f"{self.first}, oracle F1 {self.oracle.f1:.2f}, "
                f"tags {100.0 * self.right_tags / max(1, self.tags):.2f}, expansions {self.expansions}")


def evaluate(parser, symbols, sentences, given_tags, search=None):
    """Measure the quality of a beam search, or of the greedy search if `search` is None."""
    quality = Quality()
    for sentence, (scorer, tags) in zip(sentences, scorers(parser, symbols, sentences, given_tags)):
        if search:
            found, expansions = beam_search(scorer, search)
        else:
            found, expansions = [greedy_search(scorer)], 0
        quality.expansions += expansions
        quality.add(sentence, [symbols.tags.tokens[t] for t in tags],
                    [spans_of(c.actions(), symbols) for c in found])
    return quality
