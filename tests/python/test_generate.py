"""generate() with the arguments of transformers' generate(). Compared with transformers if it is installed."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
import shutil
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path

import rill
from common import CAPTIONS, ROOT, Case
from rill.compat.transformers import generate

IDS = [[0, 7, 8, 9, 2], [0, 12, 5, 2], [0, 33, 21, 40, 60, 2]]  # inputs of BART; the second one's outputs reach any limit


class Generate(Case):
    @contextlib.contextmanager
    def folder(self, forces_end: bool) -> Iterator[str]:
        """Copy the small BART model; `forces_end`: its generation_config.json forces the end token at the limit."""
        with tempfile.TemporaryDirectory() as folder:
            for path in (ROOT / "tests" / "data" / "mt" / "bart").iterdir():
                shutil.copyfile(path, f"{folder}/{path.name}")
            config = Path(folder, "generation_config.json")
            config.write_text(json.dumps({**json.loads(config.read_text()), **({"forced_eos_token_id": 2} if forces_end else {})}))
            yield folder

    def test_arguments_are_the_presets(self) -> None:
        found = generate(self.model, CAPTIONS[:4], num_beams=4, num_return_sequences=2, max_new_tokens=30, early_stopping=True)
        wanted = self.model.decode(CAPTIONS[:4], like="hf", k=4, n_best=2, max_length=30, stop="count", heuristic=[])
        self.assertEqual(found.texts, [output.text for result in wanted for output in result.outputs])
        self.assertEqual(found.sequences_scores, [output.score for result in wanted for output in result.outputs])
        self.assertEqual([len(one) for one in found.sequences], [len(one) for one in found.scores])
        for options in ({"max_new_tokens": 5}, {"max_length": 6}):  # max_length counts the start token
            short = generate(self.model, CAPTIONS[:4], num_beams=2, **options)
            self.assertEqual([len(one) for one in short.sequences], [5] * 4)
        long = generate(self.model, CAPTIONS[:4], num_beams=2, min_new_tokens=25)
        self.assertTrue(all(len(one) > 25 for one in long.sequences))
        greedy = generate(self.model, CAPTIONS[:4], num_beams=1)
        self.assertEqual(len(greedy.texts), 4)
        drawn = [generate(self.model, CAPTIONS[:2], do_sample=True, num_return_sequences=3, seed=1).texts for _ in range(2)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertEqual(len(drawn[0]), 6)

    def test_a_forced_end_counts(self) -> None:
        """The forced end token counts as one of max_new_tokens, whether an argument or the model's file forces it."""
        for in_file in (False, True):
            with self.folder(in_file) as folder, rill.Model(folder, tokenized=True) as model:
                texts = [" ".join(model.id_to_token(action) for action in one[1:-1]) for one in IDS]
                end = model.info.end_action
                for options, longest in ({}, 20), ({"max_length": 7}, 6), ({"max_new_tokens": 6}, 6), ({"max_new_tokens": 2}, 2):
                    plain = generate(model, texts, num_beams=3, **options)  # type: ignore[arg-type]
                    forced = generate(model, texts, num_beams=3, forced_eos_token_id=end, **options)  # type: ignore[arg-type]
                    self.assertEqual(max(map(len, forced.sequences)), longest)
                    self.assertEqual([one[-1] for one in forced.sequences], [end] * len(IDS))
                    self.assertEqual([one.count(end) for one in forced.sequences], [1] * len(IDS))
                    self.assertEqual(list(map(len, forced.scores)), list(map(len, forced.sequences)))
                    self.assertEqual(max(map(len, plain.sequences)), longest)
                    self.assertEqual(plain == forced, in_file)
                with self.assertRaisesRegex(ValueError, "no token fits besides the start token and the forced end"):
                    generate(model, texts, max_new_tokens=1, forced_eos_token_id=end)

    def test_a_forced_beginning(self) -> None:
        with rill.Model(ROOT / "tests" / "data" / "mt" / "bart", tokenized=True) as model:
            texts = [" ".join(model.id_to_token(action) for action in one[1:-1]) for one in IDS]
            found = generate(model, texts, num_beams=3, forced_bos_token_id=17)
            self.assertEqual([(ids[0], logprobs[0]) for ids, logprobs in zip(found.sequences, found.scores)], [(17, 0.0)] * 3)
            for ids, logprobs, score in zip(found.sequences, found.scores, found.sequences_scores):
                self.assertAlmostEqual(sum(logprobs) / len(ids), score, places=5)
            self.assertEqual(generate(model, texts, num_beams=3, forced_bos_token_id=17, output_scores=False).scores, [])
            self.assertRaisesRegex(ValueError, "the vocabulary has 420", generate, model, texts, forced_bos_token_id=420)
            self.assertRaisesRegex(TypeError, "is for texts", generate, model, [rill.Request("ein")], forced_bos_token_id=17)

    def test_a_forced_language(self) -> None:
        """Forcing a language token equals decoding into that language, for models opened with one target language or with one per input."""
        folder = ROOT / "tests" / "data" / "mt" / "m2m"
        with rill.Model(folder, language_columns=True, source_lang="deu_Latn") as any_language:
            for name in ("deu_Latn", "eng_Latn"):
                with rill.Model(folder, source_lang="deu_Latn", target_lang=name) as one:
                    wanted = generate(one, ["ein Hund"], num_beams=3)
                    token = wanted.sequences[0][0]
                    for model in (one, any_language):
                        self.assertEqual(generate(model, ["ein Hund"], num_beams=3, forced_bos_token_id=token), wanted)
                    with self.assertRaisesRegex(ValueError, f"force {token}, '{name}': .*language_columns=True"):
                        generate(one, ["ein Hund"], forced_bos_token_id=token + 1)
            with self.assertRaisesRegex(rill.InputError, "unknown language"):
                generate(any_language, ["ein Hund"], forced_bos_token_id=30)

    def test_bad_words(self) -> None:
        plain = generate(self.model, CAPTIONS[:4], num_beams=3)
        first, second, third = plain.sequences[0][:3]
        end = self.model.info.end_action
        for words in ([[first]], [[first, second]], [[end], [second], [first, second]]):
            found = generate(self.model, CAPTIONS[:4], num_beams=3, bad_words_ids=words)
            for ids in found.sequences:
                for word in words:
                    places = range(len(ids) - len(word) + 1) if word != [end] else ()
                    self.assertFalse(any(ids[i : i + len(word)] == word for i in places), words)
            self.assertNotEqual(found.sequences[0], plain.sequences[0])
        self.assertEqual(generate(self.model, CAPTIONS[:4], num_beams=3, bad_words_ids=[[third, third], [end]]), plain)
        found = generate(self.model, CAPTIONS[:4], num_beams=3, forced_bos_token_id=second, bad_words_ids=[[second]])
        self.assertEqual([(ids[0], ids.count(second)) for ids in found.sequences], [(second, 1)] * 4)
        for bad, why in (([[]], "is empty"), ([[-1]], "token id -1"), ([3], "token ids was expected"), ("ab", "lists of token ids")):
            with self.subTest(bad=bad), self.assertRaisesRegex((ValueError, TypeError), why):
                generate(self.model, CAPTIONS[:1], bad_words_ids=bad)  # type: ignore[arg-type]

    def test_the_start_token_counts_in_ngrams(self) -> None:
        start = 190  # most outputs of this model repeat one token
        with self.folder(False) as folder:
            config = Path(folder, "generation_config.json")
            config.write_text(json.dumps({**json.loads(config.read_text()), "decoder_start_token_id": start}))
            with rill.Model(folder, tokenized=True) as model:
                texts = [" ".join(model.id_to_token(action) for action in one[1:-1]) for one in IDS]
                for size in (2, 3):
                    for ids in generate(model, texts, num_beams=3, max_new_tokens=10, no_repeat_ngram_size=size).sequences:
                        ngrams = list(zip(*([start, *ids][i:] for i in range(size))))
                        self.assertEqual(len(set(ngrams)), len(ngrams), ids)

    def test_contradictions(self) -> None:
        self.assertRaisesRegex(TypeError, "found one text", generate, self.model, CAPTIONS[0])
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

        searches = ({"num_beams": 3, "num_return_sequences": 2}, {"num_beams": 4, "length_penalty": 0.5}, {"num_beams": 1})
        limits = ({}, {"max_new_tokens": 2}, {"max_length": 7})
        torch.set_num_threads(1)
        for in_file in (False, True):
            with self.folder(in_file) as folder, rill.Model(folder, tokenized=True) as mine:
                theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
                texts = [" ".join(mine.id_to_token(action) for action in one[1:-1]) for one in IDS]
                # in this model token 2 starts and ends outputs, and most outputs repeat one token
                words = [[2], [190], [7, 9], [2, 190], [2, 5]]
                others = ({}, {"forced_eos_token_id": 2}, {"forced_bos_token_id": 17}, {"bad_words_ids": words})
                others += ({"bad_words_ids": words, "forced_bos_token_id": 5},)  # type: ignore[assignment]
                for search, limit, end in itertools.product(searches, limits, others):
                    if limit == {"max_new_tokens": 2} and "forced_bos_token_id" in end:
                        continue  # only one output is possible; transformers fills the list with copies
                    options = {**search, **limit, **end}
                    found = generate(mine, texts, **options)  # type: ignore[arg-type]
                    real = []
                    for one in IDS:
                        real += theirs.generate(torch.tensor([one]), **options).tolist()
                    with self.subTest(in_file=in_file, options=options):
                        self.assertEqual(found.sequences, [[id for id in one[1:] if id != theirs.config.pad_token_id] for one in real])


if __name__ == "__main__":
    unittest.main()
