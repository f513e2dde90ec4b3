"""rill.compat.ctranslate2 against the package ctranslate2, call by call. Skipped if the package is not installed."""

from __future__ import annotations

import itertools
import json
import math
import pathlib
import shutil
import tempfile
import unittest
from typing import Any

import rill
from common import ROOT
from rill.compat import ctranslate2 as ours

try:
    import ctranslate2 as theirs
except ImportError:
    theirs = None

FOLDERS = [ROOT / "tests" / "data" / "mt" / name for name in ("ct2-marian", "ct2-fairseq", "ct2-opennmt")]
DELTA = 2e-4  # allowed difference of scores: CTranslate2 sums in another order, and the files have six digits


def vocabulary(folder: pathlib.Path) -> list[str]:
    name = "shared_vocabulary.json" if (folder / "shared_vocabulary.json").exists() else "source_vocabulary.json"
    return list(json.loads((folder / name).read_text()))


def opened(folder: pathlib.Path) -> tuple[Any, Any]:
    """Open the folder with both packages, in float32. rill reads int16 as floats. Unless a type is set, CTranslate2's type for such a
    folder depends on the processor: on Intel's it uses int16 products of MKL, elsewhere it rounds the weights to int8.
    """
    return tuple(package.Translator(str(folder), compute_type="float32") for package in (ours, theirs))


@unittest.skipIf(theirs is None, "the package ctranslate2 is not installed")
class Calls(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = FOLDERS[0]
        self.mine, self.real = opened(self.folder)
        self.words = vocabulary(self.folder)
        self.source = [self.words[5:9], [], self.words[10:12], self.words[20:32], ["nosuch", *self.words[7:9]]]

    def tearDown(self) -> None:
        self.mine.unload_model()

    def same(self, mine: Any, real: Any) -> None:
        """Check that two TranslationResults are equal."""
        self.assertEqual(mine.hypotheses, real.hypotheses)
        self.near(mine.scores, real.scores)
        self.assertEqual(len(mine.attention), len(real.attention))
        for a, b in zip(mine.attention, real.attention):
            self.assertEqual(len(a), len(b))
            for row, other in zip(a, b):
                self.near(row, other)

    def near(self, mine: Any, real: Any) -> None:
        self.assertEqual(len(mine), len(real))
        for a, b in zip(mine, real):
            self.assertAlmostEqual(a, b, delta=DELTA)

    def both(self, **options: Any) -> None:
        with self.subTest(**{name: str(value) for name, value in options.items()}):
            real = self.real.translate_batch(self.source, **options)
            mine = self.mine.translate_batch(self.source, **options)
            self.assertEqual(len(mine), len(real))
            for a, b in zip(mine, real):
                self.same(a, b)

    def test_translate_batch(self) -> None:
        # CTranslate2 masks forbidden tokens before the softmax, rill after it (docs/search.md). Without a minimum length nothing is masked.
        some = {"return_scores": True, "max_decoding_length": 12, "min_decoding_length": 0}
        prefix = [self.words[6:8], None, ["nosuch"], self.words[8:9], []]
        for options in (
            {"max_decoding_length": 20},
            {**some, "beam_size": 1},
            {**some, "beam_size": 4, "num_hypotheses": 4},
            {**some, "beam_size": 4, "num_hypotheses": 2, "length_penalty": 0},
            {**some, "beam_size": 3, "length_penalty": 0.6},
            {**some, "beam_size": 3, "patience": 2, "num_hypotheses": 3},
            {**some, "return_end_token": True},
            {**some, "no_repeat_ngram_size": 1, "beam_size": 1, "return_scores": False},
            {**some, "suppress_sequences": [["t"], ["▁.", "t"]], "beam_size": 1, "return_scores": False},
            {**some, "disable_unk": True, "beam_size": 1, "return_scores": False},
            {**some, "min_decoding_length": 9, "beam_size": 1, "return_scores": False},
            *({**some, "beam_size": k, "patience": p, "num_hypotheses": n, "length_penalty": a} for k, p, n in
              ((3, 1.5, 3), (5, 0.5, 2), (2, 2, 4), (5, 0.2, 1), (4, 1, 1)) for a in (0, 0.5)),
            *({**some, "max_input_length": n} for n in (2, 3, 5, 9)),
            {**some, "max_batch_size": 2},
            {**some, "max_batch_size": 20, "batch_type": "tokens"},
            {**some, "target_prefix": prefix},
            {**some, "target_prefix": prefix, "beam_size": 4, "num_hypotheses": 3},
            {**some, "target_prefix": prefix, "beam_size": 1},
            {**some, "return_scores": False, "return_alternatives": True, "num_hypotheses": 3, "target_prefix": prefix},
            {**some, "beam_size": 1, "patience": 2, "num_hypotheses": 2},
            {**some, "end_token": "</s>"},
            {**some, "target_prefix": [self.words[6:8]] * len(self.source), "max_decoding_length": 1},
            {**some, "target_prefix": prefix, "max_decoding_length": 1, "return_alternatives": True, "num_hypotheses": 3},
            {**some, "prefix_bias_beta": -1, "target_prefix": prefix},
        ):
            self.both(**options)
        # CTranslate2 aborts the process if some inputs have a prefix and others have none.
        for beta, k in itertools.product((0.1, 0.5, 0.9), (1, 2, 4)):
            for given in (self.words[6:8], ["nosuch", *self.words[7:9]]):
                self.both(**some, prefix_bias_beta=beta, beam_size=k, target_prefix=[given] * len(self.source))

    def test_alternatives_have_the_probabilities_that_scoring_gives(self) -> None:
        """After a prefix of several tokens CTranslate2 returns other alternatives than rill; its own scoring contradicts them."""
        source, prefix = self.source[:1], self.words[6:9]
        kwargs = {"return_scores": True, "min_decoding_length": 0, "max_decoding_length": 4, "num_hypotheses": 4}
        found = self.mine.translate_batch(source, [prefix], return_alternatives=True, **kwargs)[0]
        end = self.real.score_batch(source, [prefix])[0].log_probs[-1]
        for tokens, score in zip(found.hypotheses, found.scores, strict=True):
            real = self.real.score_batch(source, [tokens])[0].log_probs[3]
            self.assertAlmostEqual(score, real - math.log1p(-math.exp(end)), delta=DELTA)

    def test_prefixes_that_end(self) -> None:
        """Nothing follows </s>, so a prefix ends at its first </s>, and outputs of other inputs are unchanged."""
        some = {"return_scores": True, "max_decoding_length": 12, "min_decoding_length": 0}
        some_end = [self.words[6], "</s>", self.words[7]], ["</s>", self.words[6]], ["</s>", "</s>"]
        for (beta, k), given in itertools.product(((0.1, 2), (0.5, 1), (0.5, 2), (0.9, 4)), some_end):
            kwargs = {**some, "prefix_bias_beta": beta, "beam_size": k}
            if k == 1:
                self.both(**kwargs, target_prefix=[self.words[6:8], given, given, self.words[8:9], given])
            # In a beam, CTranslate2 applies the bias after </s> to another hypothesis: the one that takes the place of the ended one.
            counts = given[: given.index("</s>") + 1]
            mine, real = (
                translator.translate_batch(self.source, [self.words[6:8], [], one, self.words[8:9], one], **kwargs)
                for translator, one in ((self.mine, given), (self.real, counts))
            )
            for a, b in zip(mine, real, strict=True):
                with self.subTest(given=given, beta=beta, k=k):
                    self.same(a, b)
        # rill cannot find outputs that continue after </s>; the error names the prefix that requires one.
        ending = [self.words[6], "</s>", self.words[7]]
        prefixes = [self.words[6:8], [], ending, None, None]
        for options in ({}, {"beam_size": 1}, {"return_alternatives": True}):
            with self.subTest(options=options), self.assertRaisesRegex(NotImplementedError, f"target_prefix: .*'{ending[0]}', '</s>'"):
                self.mine.translate_batch(self.source, prefixes, **options)
        with self.assertRaisesRegex(NotImplementedError, "target_prefix: .*</s>"):
            list(self.mine.generate_tokens(self.source[0], ending))
        with self.assertRaisesRegex(NotImplementedError, "target: .*</s>"):
            self.mine.score_batch(self.source[:1], [ending])
        self.both(**some, target_prefix=[None, ending, None, None, None])

    def test_a_prefix_of_an_input_that_fails(self) -> None:
        mine, _ = opened(FOLDERS[0].parent / "ct2-bart")
        with mine, self.assertRaisesRegex(rill.InputError, "^target_prefix: .* of an input of 2000 tokens: .*positions"):
            mine.translate_batch([["▁t"] * 2000], [["▁t"]], prefix_bias_beta=0.5, max_input_length=0)

    def test_attention(self) -> None:
        # CTranslate2's attention of a beam depends on the batch, so each input is decoded alone. Greedy search with a coverage_penalty
        # aborts its process.
        some = {"return_scores": True, "max_decoding_length": 12, "min_decoding_length": 0, "max_batch_size": 1}
        for options in (
            {**some, "return_attention": True},
            {**some, "return_attention": True, "return_end_token": True, "beam_size": 1},
            {**some, "return_attention": True, "target_prefix": [self.words[6:8]] * len(self.source), "beam_size": 1},
            {**some, "coverage_penalty": 0.3, "beam_size": 4, "num_hypotheses": 3},
            {**some, "coverage_penalty": 1.5, "beam_size": 4, "length_penalty": 0},
            {**some, "coverage_penalty": 0.5, "beam_size": 3, "patience": 2, "num_hypotheses": 4},
            {**some, "coverage_penalty": 0.5, "beam_size": 3, "patience": 1.5, "num_hypotheses": 4},  # 3 * 1.5 = 4.5 outputs, rounded to 5
        ):
            self.both(**options)

    def test_unknowns_are_replaced(self) -> None:
        kwargs = {"target_prefix": [["nosuch"]], "max_decoding_length": 5}
        self.assertEqual(self.mine.translate_batch(self.source[:1], **kwargs)[0].hypotheses[0][0], "<unk>")
        self.assertIn(self.mine.translate_batch(self.source[:1], replace_unknowns=True, **kwargs)[0].hypotheses[0][0], self.source[0])

    def test_the_form_of_old(self) -> None:
        result = self.mine.translate_batch(self.source, return_scores=True)[0]
        self.assertEqual(result[0]["tokens"], result.hypotheses[0])
        self.assertEqual(result[0]["score"], result.scores[0])

    def test_errors(self) -> None:
        for options in (
            {"num_hypotheses": 5},
            {"beam_size": 0},
            {"patience": 0},
            {"foo": 1},
            {"min_decoding_length": 9, "max_decoding_length": 3},
            {"callback": print},
            {"batch_type": "x"},
            {"repetition_penalty": 0},
            {"prefix_bias_beta": 1},
            {"end_token": "nosuch"},
            {"suppress_sequences": [["nosuch"]], "beam_size": 1},
        ):
            with self.subTest(options=options):
                with self.assertRaises((ValueError, TypeError)) as real:
                    self.real.translate_batch(self.source, **options)
                with self.assertRaises(type(real.exception)) as mine:
                    self.mine.translate_batch(self.source, **options)
                if isinstance(real.exception, ValueError):
                    self.assertEqual(str(mine.exception), str(real.exception).replace("Invalid batch type: x", "Invalid batch type: x"))
        for unsupported in (
            {"coverage_penalty": 0.1, "return_alternatives": True},
            {"prefix_bias_beta": 0.1, "return_alternatives": True},
            {"return_logits_vocab": True},
            {"repetition_penalty": 1.2},
            {"repetition_penalty": 1.2, "beam_size": 1},
            {"no_repeat_ngram_size": 2},
            {"end_token": "t"},
        ):
            with self.subTest(unsupported=unsupported), self.assertRaisesRegex(NotImplementedError, f"^{next(iter(unsupported))}"):
                self.mine.translate_batch(self.source, **unsupported)
        # CTranslate2 masks forbidden tokens before the softmax: candidates and scores differ.
        t, plain = [["t"]], {"beam_size": 1, "return_scores": False}
        for masked in ({"no_repeat_ngram_size": 2}, {"min_decoding_length": 2}, {"disable_unk": True}, {"suppress_sequences": t}):
            for more in (
                {"beam_size": 2},
                {"sampling_topk": 5},
                {"return_alternatives": True},
                {"prefix_bias_beta": 0.1, "target_prefix": [["nosuch"]] * len(self.source)},
                {"return_scores": True},
            ):
                with self.subTest(masked=masked, more=more), self.assertRaisesRegex(NotImplementedError, f"^{next(iter(masked))}.*softmax"):
                    self.mine.translate_batch(self.source, **{**plain, **masked, **more})
        for forbidden, prefix in (
            ({"no_repeat_ngram_size": 2}, self.words[6:8] * 2),
            ({"disable_unk": True}, ["nosuch"]),
            ({"suppress_sequences": [self.words[7:9]]}, self.words[7:9]),
        ):
            for call in (
                lambda: self.mine.translate_batch(self.source[:1], [prefix], **plain, **forbidden),
                lambda: list(self.mine.generate_tokens(self.source[0], prefix, **forbidden)),
            ):
                with self.subTest(forbidden=forbidden), self.assertRaisesRegex(NotImplementedError, f"prefix: .*{next(iter(forbidden))}"):
                    call()
            shorter = [prefix[:-1] if len(prefix) > 1 else None]
            self.source, sources = self.source[:1], self.source
            self.both(**plain, **forbidden, target_prefix=shorter, max_decoding_length=12, min_decoding_length=0)
            self.source = sources
        self.assertEqual(self.mine.translate_batch(self.source, use_vmap=True), self.mine.translate_batch(self.source))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "model"
            shutil.copytree(self.folder, folder)
            (folder / "vmap.txt").write_text("a\tb\n")
            with self.assertRaisesRegex(NotImplementedError, "vmap.txt"):
                ours.Translator(str(folder)).translate_batch(self.source, use_vmap=True)

    def test_invalid_token_lists(self) -> None:
        """As in CTranslate2, wrong types raise TypeError, and bytes are accepted as tokens."""
        one, texts = [["t"]], (["Ein Hund"], "Ein Hund", [3], [[3]], [[None]], [{"t"}], [{"t": 1}], [iter(["t"])])
        calls: list[Any] = []
        for bad in (*texts, [None]):
            calls += [
                lambda t, bad=bad: t.translate_batch(bad),
                lambda t, bad=bad: t.translate_batch(bad, return_alternatives=True),
                lambda t, bad=bad: t.score_batch(bad, one),
                lambda t, bad=bad: t.score_batch(one, bad),
            ]
        for bad in texts:
            calls += [
                lambda t, bad=bad: list(t.translate_iterable(bad)),
                lambda t, bad=bad: list(t.score_iterable(bad if isinstance(bad, list) else [bad], one)),
                lambda t, bad=bad: t.translate_batch(one, bad),
                lambda t, bad=bad: list(t.translate_iterable(one, bad if isinstance(bad, list) else [bad])),
                lambda t, bad=bad: t.translate_batch(one, suppress_sequences=bad),
            ]
        for bad in ("ab", [3], 3, {"t"}):
            calls += [
                lambda t, bad=bad: list(t.generate_tokens(bad, max_decoding_length=3)),
                lambda t, bad=bad: list(t.generate_tokens(["t"], bad, max_decoding_length=3)),
            ]
        for number, call in enumerate(calls):
            for translator in (self.real, self.mine):
                with self.subTest(call=number, translator=type(translator).__module__), self.assertRaises(TypeError):
                    call(translator)
        self.source = [[b"t", "t"], ("t",), ["a b", "", "t"]]
        self.both(max_decoding_length=12, min_decoding_length=0)
        with self.assertRaisesRegex(TypeError, "translate_batch.*'beamsize': did you mean 'beam_size'"):
            self.mine.translate_batch(one, beamsize=3)
        with self.assertRaisesRegex(TypeError, "translate_iterable.*'nonsense'$"):
            self.mine.translate_iterable(one, nonsense=3)

    def test_asynchronous(self) -> None:
        wanted = self.mine.translate_batch(self.source)
        later = self.mine.translate_batch(self.source, asynchronous=True)
        self.assertEqual([one.result() for one in later], wanted)
        self.assertTrue(all(one.done() for one in later))
        self.assertEqual((self.mine.num_queued_batches, self.mine.num_active_batches), (0, 0))

    def test_iterables(self) -> None:
        options = {"return_scores": True, "max_decoding_length": 12, "min_decoding_length": 0}
        real = self.real.translate_iterable(iter(self.source), max_batch_size=2, **options)
        for a, b in zip(self.mine.translate_iterable(iter(self.source), max_batch_size=2, **options), real, strict=True):
            self.same(a, b)
        target = [self.words[6:9], [], self.words[3:4], self.words[12:20], self.words[4:6]]
        for a, b in zip(self.mine.score_iterable(self.source, target), self.real.score_iterable(self.source, target), strict=True):
            self.assertEqual(a.tokens, b.tokens)
            self.near(a.log_probs, b.log_probs)

    def test_scoring(self) -> None:
        target = [self.words[6:9], self.words[4:6], [], self.words[12:20], self.words[4:6]]
        for kwargs in ({}, {"offset": 1}, {"max_input_length": 0}, *({"max_input_length": n} for n in (2, 3, 5, 9))):
            real = self.real.score_batch(self.source, target, **kwargs)
            for a, b in zip(self.mine.score_batch(self.source, target, **kwargs), real, strict=True):
                self.assertEqual(a.tokens, b.tokens)
                self.near(a.log_probs, b.log_probs)

    def test_files(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "in").write_text("\n".join(map(" ".join, self.source)) + "\n")
            kwargs = {"with_scores": False, "max_decoding_length": 12}
            stats = self.mine.translate_file(str(folder / "in"), str(folder / "mine"), **kwargs)
            real = self.real.translate_file(str(folder / "in"), str(folder / "real"), **kwargs)
            self.assertEqual((folder / "mine").read_text(), (folder / "real").read_text())
            self.assertEqual((stats.num_tokens, stats.num_examples), (real.num_tokens, real.num_examples))
            (folder / "target").write_text("\n".join(map(" ".join, reversed(self.source))) + "\n")
            for one, out in ((self.mine, "mine"), (self.real, "real")):
                one.score_file(str(folder / "in"), str(folder / "target"), str(folder / out), with_tokens_score=True)
            mine, theirs_ = ((folder / out).read_text().splitlines() for out in ("mine", "real"))
            self.assertEqual([line.split(" ||| ")[1] for line in mine], [line.split(" ||| ")[1] for line in theirs_])
            for a, b in zip(mine, theirs_, strict=True):
                self.assertAlmostEqual(float(a.split(" ||| ")[0]), float(b.split(" ||| ")[0]), delta=DELTA)

    def test_tokens(self) -> None:
        for prefix in (None, self.words[6:8]):
            kwargs = {"max_decoding_length": 6, "min_decoding_length": 0, "return_log_prob": True}
            mine = list(self.mine.generate_tokens(self.source[0], prefix, **kwargs))
            real = list(self.real.generate_tokens(self.source[0], prefix, **kwargs))
            for a, b in zip(mine, real, strict=True):
                self.assertEqual((a.step, a.token, a.token_id, a.is_last), (b.step, b.token, b.token_id, b.is_last))
                self.assertAlmostEqual(a.log_prob, b.log_prob, delta=DELTA)

    def test_a_callback_stops(self) -> None:
        seen: list[list[Any]] = [[], []]
        for one, steps in zip((self.mine, self.real), seen):
            one.translate_batch(self.source[:1], beam_size=1, callback=lambda step, to=steps: to.append(step) or step.step == 1)
        self.assertEqual(*[[(s.step, s.token_id, s.batch_id) for s in steps] for steps in seen])

    def test_properties(self) -> None:
        for name in ("device", "device_index", "compute_type", "num_translators", "model_is_loaded"):
            self.assertEqual(getattr(self.mine, name), getattr(self.real, name), name)
        # float32 for this folder, on any processor
        plain = [package.Translator(str(self.folder)).compute_type for package in (ours, theirs)]
        self.assertEqual(*plain)
        for call in (
            lambda one: (one.unload_model(True), one.model_is_loaded),  # a model on the CPU stays loaded
            lambda one: (one.unload_model(), one.model_is_loaded, one.unload_model(True), one.unload_model()),
            lambda one: (one.load_model(True), one.load_model(), one.model_is_loaded),
            lambda one: (one.unload_model(to_cpu=False), one.model_is_loaded),
        ):
            self.assertEqual(call(self.mine), call(self.real))
        with self.assertRaises(RuntimeError):
            self.mine.translate_batch(self.source)
        self.mine.load_model()
        self.assertEqual(len(self.mine.translate_batch(self.source)), len(self.source))

    def test_models_and_types(self) -> None:
        for path in (self.folder, self.folder.parent, self.folder / "model.bin", pathlib.Path("/nowhere")):
            self.assertEqual(ours.contains_model(str(path)), theirs.contains_model(str(path)), path)
        mine, real = ours.get_supported_compute_types("cpu"), theirs.get_supported_compute_types("cpu")
        self.assertLessEqual({"float32", "int8", "int8_float32"} & real, mine)
        for name in mine:
            with ours.Translator(str(self.folder), compute_type=name) as one:
                if name in real:
                    self.assertEqual(one.compute_type, theirs.Translator(str(self.folder), compute_type=name).compute_type)
        for package in (ours, theirs):
            self.assertRaisesRegex(ValueError, "unsupported device tpu", package.get_supported_compute_types, "tpu")
        with self.assertRaisesRegex(NotImplementedError, "compute_type: 'int16' is none of .*bfloat16"):
            ours.Translator(str(self.folder), compute_type="int16")

    def test_steps_of_samples(self) -> None:
        """The steps of a sampled output are its tokens, and its score follows from their log-probabilities. A callback may stop
        the generation."""
        options = {"sampling_topk": 0, "beam_size": 1, "max_decoding_length": 8, "length_penalty": 0.5, "return_scores": True}
        for prefix in (None, [self.words[6:8]] * len(self.source)):
            for last in (100, 3):
                ours.set_random_seed(5)
                plain = self.mine.translate_batch(self.source, prefix, return_end_token=True, **options)
                ours.set_random_seed(5)
                seen: list[list[Any]] = [[] for _ in self.source]

                def look(step: Any) -> bool:
                    seen[step.batch_id].append(step)
                    return bool(step.step >= last)

                cut = self.mine.translate_batch(self.source, prefix, return_end_token=True, callback=look, **options)
                for whole, part, steps in zip(plain, cut, seen):
                    n = min(len(whole.hypotheses[0]), last + 1)
                    self.assertEqual(part.hypotheses[0], whole.hypotheses[0][:n])
                    if steps:
                        self.assertEqual([step.token for step in steps], part.hypotheses[0])
                        self.assertEqual([step.step for step in steps], list(range(n)))
                        self.assertAlmostEqual(part.scores[0], sum(step.log_prob for step in steps) / n**0.5, delta=DELTA)
        ours.set_random_seed(5)
        drawn = list(self.mine.generate_tokens(self.source[0], sampling_topk=0, return_log_prob=True, max_decoding_length=8))
        ours.set_random_seed(5)
        sample = self.mine.translate_batch(self.source[:1], **{**options, "length_penalty": 0})[0]
        self.assertEqual([step.token for step in drawn if step.token != "</s>"], sample.hypotheses[0])
        self.assertAlmostEqual(sum(step.log_prob for step in drawn), sample.scores[0], delta=DELTA)
        with self.assertRaisesRegex(NotImplementedError, "several_samples"):
            self.mine.translate_batch(self.source, num_hypotheses=2, callback=look, **options)

    def test_samples(self) -> None:
        ours.set_random_seed(3)
        drawn = self.mine.translate_batch(self.source, sampling_topk=0, beam_size=1, num_hypotheses=4, max_decoding_length=8)
        self.assertEqual([len(result.hypotheses) for result in drawn], [4] * len(self.source))
        ours.set_random_seed(3)
        again = self.mine.translate_batch(self.source, sampling_topk=0, beam_size=1, num_hypotheses=4, max_decoding_length=8)
        self.assertEqual(drawn, again)

    def test_other_folders(self) -> None:
        for folder in FOLDERS[1:]:
            words = vocabulary(folder)
            source = [words[8:14], words[20:22]]
            options = {"return_scores": True, "max_decoding_length": 8, "min_decoding_length": 0}
            found, real = (translator.translate_batch(source, **options) for translator in opened(folder))
            for a, b in zip(found, real, strict=True):
                self.same(a, b)

    def test_marks_count_as_input(self) -> None:
        for folder, marks in zip(FOLDERS, (0, 1, 2)):
            words = vocabulary(folder)
            source, target = [words[8:14], words[20:22]], [words[5:9], words[6:7]]
            mine, real = opened(folder)
            if marks:
                with self.assertRaisesRegex(NotImplementedError, "without tokens"):
                    mine.score_batch([[]], [[]])
            for n in range(1, 9):
                kwargs = {"max_decoding_length": 8, "min_decoding_length": 0, "return_scores": True, "max_input_length": n}
                calls = (
                    lambda t: t.translate_batch(source, **kwargs),
                    lambda t: t.translate_batch(source, return_alternatives=True, num_hypotheses=2, **kwargs),
                    lambda t: t.score_batch(source, target, max_input_length=n),
                    lambda t: list(t.generate_tokens(source[0], max_input_length=n, max_decoding_length=8, min_decoding_length=0)),
                )
                for call in calls:
                    if n <= marks:
                        with self.assertRaisesRegex(NotImplementedError, f"max_input_length: {n}"):
                            call(mine)
                    for a, b in zip(call(mine), call(real), strict=True) if n > marks else ():
                        with self.subTest(folder=folder.name, n=n):
                            if hasattr(a, "hypotheses"):
                                self.assertEqual(a.hypotheses, b.hypotheses)
                            elif hasattr(a, "tokens"):
                                self.assertEqual(a.tokens, b.tokens)
                                self.near(a.log_probs, b.log_probs)
                            else:
                                self.assertEqual((a.step, a.token), (b.step, b.token))


if __name__ == "__main__":
    unittest.main()
