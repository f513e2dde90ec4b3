"""generate() with transformers' arguments; against transformers itself where it is installed."""

from __future__ import annotations

import importlib.util
import unittest

import rill
from common import CAPTIONS, ROOT, Case
from rill.compat.transformers import generate


class Generate(Case):
    def test_arguments_are_the_presets(self) -> None:
        found = generate(self.model, CAPTIONS[:4], num_beams=4, num_return_sequences=2, max_new_tokens=30, early_stopping=True)
        wanted = self.model.decode(CAPTIONS[:4], like="hf", k=4, n_best=2, max_length=30, stop="count", heuristic=[])
        self.assertEqual(found.texts, [output.text for result in wanted for output in result.outputs])
        self.assertEqual(found.sequences_scores, [output.score for result in wanted for output in result.outputs])
        self.assertEqual([len(one) for one in found.sequences], [len(one) for one in found.scores])
        for said in ({"max_new_tokens": 5}, {"max_length": 6}):  # which counts the start symbol
            short = generate(self.model, CAPTIONS[:4], num_beams=2, **said)
            self.assertEqual([len(one) for one in short.sequences], [5] * 4)
        long = generate(self.model, CAPTIONS[:4], num_beams=2, min_new_tokens=25)
        self.assertTrue(all(len(one) > 25 for one in long.sequences))
        greedy = generate(self.model, CAPTIONS[:4], num_beams=1)
        self.assertEqual(len(greedy.texts), 4)
        drawn = [generate(self.model, CAPTIONS[:2], do_sample=True, num_return_sequences=3, seed=1).texts for _ in range(2)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertEqual(len(drawn[0]), 6)

    def test_contradictions(self) -> None:
        for bad in (
            {"early_stopping": "sometimes"},
            {"num_beams": 2, "num_return_sequences": 3},
            {"temperature": 0.5},
            {"forced_eos_token_id": 10**6},
            {"num_beams": 0},
        ):
            with self.subTest(bad=bad), self.assertRaises(ValueError):
                generate(self.model, CAPTIONS[:1], **bad)  # type: ignore[arg-type]
        with self.assertRaises(NotImplementedError):
            generate(self.model, CAPTIONS[:1], do_sample=True, num_beams=2)

    @unittest.skipUnless(importlib.util.find_spec("transformers") and importlib.util.find_spec("torch"), "transformers is not installed")
    def test_the_same_as_transformers(self) -> None:
        import torch
        import transformers

        folder = ROOT / "tests" / "data" / "mt" / "bart"
        theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
        ids = [[0, 7, 8, 9, 2], [0, 12, 5, 2]]
        with rill.Model(folder, tokenized=True) as mine:
            for said in ({"num_beams": 3, "num_return_sequences": 2}, {"num_beams": 4, "length_penalty": 0.5}, {"num_beams": 1}):
                said = {**said, "max_new_tokens": 8}
                texts = [" ".join(mine.id_to_token(action) for action in one[1:-1]) for one in ids]
                found = generate(mine, texts, **said)  # type: ignore[arg-type]
                real = []
                for one in ids:
                    real += theirs.generate(torch.tensor([one]), **said).tolist()
                for a, b in zip(found.sequences, real, strict=True):
                    self.assertGreater(len(a), 0)
                    self.assertEqual(a, [action for action in b[1:] if action != theirs.config.pad_token_id][: len(a)])


if __name__ == "__main__":
    unittest.main()
