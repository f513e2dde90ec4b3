"""Values of a wrong type raise a TypeError that names the value found; NumPy's numbers count as numbers. Tested for each call of rill
and rill.compat.ctranslate2."""

from __future__ import annotations

import itertools
import pathlib
import tempfile
import unittest
from typing import Any

import numpy as np
import rill
from common import CAPTIONS, MODELS, ROOT, Case
from rill.compat import ctranslate2 as ours
from rill.compat.transformers import generate

try:
    import ctranslate2 as theirs
except ImportError:
    theirs = None

FOLDER = ROOT / "tests" / "data" / "mt" / "ct2-marian"
WRONG: dict[str, tuple[Any, ...]] = {
    "whole": ("1", 1.0, 1.5, None, b"1", [1], np.array([1]), {}, -1, 2**70, float("nan"), object()),
    "number": ("1", None, b"1", [1.0], np.array([1.0]), {}, object()),
    "switch": ("yes", "", b"1", [1], [], {}, object()),
    "text": (1, None, ["examples"], 1.5, True),
    "function": (True, 1, "f", [print]),
    "tokens": ("t", b"t", ["t"], 3, [3], [[3]], [[None]], [b"t"], [{"t": 1}], {"t": ["t"]}, [["t"], "t"]),
}


def right(kind: str, value: Any) -> tuple[Any, ...]:
    """Return equal values of other accepted types."""
    if kind == "whole":
        return np.int64(value), np.int32(value), np.uint8(value), np.array(value), *((True, np.True_) if value == 1 else ())
    if kind == "number":
        return float(value), np.float64(value), np.float32(value), np.int64(value), np.array(float(value)), int(value)
    if kind == "switch":
        return bool(value), np.bool_(value), int(value), float(value), np.int64(value), *(() if value else (None,))
    return ()


# Option -> its kind, a value, and other options that it needs.
SEARCH: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "beam_size": ("whole", 1, {}),
    "patience": ("number", 2, {}),
    "num_hypotheses": ("whole", 2, {}),
    "length_penalty": ("number", 0, {}),
    "coverage_penalty": ("number", 1, {}),
    "repetition_penalty": ("number", 1, {}),
    "no_repeat_ngram_size": ("whole", 1, {"beam_size": 1}),
    "disable_unk": ("switch", True, {"beam_size": 1}),
    "suppress_sequences": ("tokens", [["t"]], {"beam_size": 1}),
    "return_end_token": ("switch", True, {}),
    "prefix_bias_beta": ("number", 0, {}),
    "max_input_length": ("whole", 2, {}),
    "max_decoding_length": ("whole", 3, {}),
    "min_decoding_length": ("whole", 1, {}),
    "use_vmap": ("switch", False, {}),
    "return_scores": ("switch", True, {}),
    "return_logits_vocab": ("switch", False, {}),
    "return_attention": ("switch", True, {}),
    "return_alternatives": ("switch", True, {}),
    "min_alternative_expansion_prob": ("number", 0, {}),
    "sampling_topk": ("whole", 1, {}),
    "sampling_topp": ("number", 1, {}),
    "sampling_temperature": ("number", 1, {}),
    "replace_unknowns": ("switch", True, {}),
    "callback": ("function", None, {"beam_size": 1}),
}
BATCH = {"max_batch_size": ("whole", 1, {}), "batch_type": ("text", "examples", {})}
SCORE = {**BATCH, "max_input_length": ("whole", 2, {}), "offset": ("whole", 1, {})}
FILES = {**BATCH, "read_batch_size": ("whole", 1, {})}
STEPS = {name: (kind, value, {}) for name, (kind, value, _) in SEARCH.items() if name in (
    "max_decoding_length", "min_decoding_length", "sampling_topk", "sampling_topp", "sampling_temperature", "repetition_penalty",
    "no_repeat_ngram_size", "disable_unk", "suppress_sequences", "max_input_length", "use_vmap")}


class CompatCtranslate2(unittest.TestCase):
    def setUp(self) -> None:
        self.mine = ours.Translator(FOLDER, compute_type="float32")
        self.addCleanup(self.mine.unload_model)
        self.real = theirs.Translator(str(FOLDER), compute_type="float32") if theirs else None
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("in", "target"):
            (self.folder / name).write_text("t e t\nt\n")

    def calls(self) -> dict[str, Any]:
        """Return for each call its options and a function that makes the call."""
        source, target, folder = [["t", "e", "t"]], [["e"]], self.folder

        def translate_file(t: Any, **kwargs: Any) -> str:
            t.translate_file(str(folder / "in"), str(folder / "out"), max_decoding_length=5, **kwargs)
            return (folder / "out").read_text()

        def score_file(t: Any, **kwargs: Any) -> str:
            t.score_file(str(folder / "in"), str(folder / "target"), str(folder / "out"), **kwargs)
            return (folder / "out").read_text()

        some = {name: SEARCH[name] for name in ("beam_size", "length_penalty", "return_end_token")}
        short = {"max_decoding_length": 5}
        return {
            "translate_batch": ({**SEARCH, **BATCH, "asynchronous": ("switch", False, {})},
                                lambda t, **kwargs: t.translate_batch(source, **{**short, **kwargs})),
            "translate_iterable": ({**SEARCH, **BATCH}, lambda t, **kwargs: list(t.translate_iterable(source, **{**short, **kwargs}))),
            "translate_file": ({**some, **FILES, "with_scores": ("switch", True, {})}, translate_file),
            "score_batch": ({**SCORE, "asynchronous": ("switch", False, {})}, lambda t, **kwargs: t.score_batch(source, target, **kwargs)),
            "score_iterable": (SCORE, lambda t, **kwargs: list(t.score_iterable(source, target, **kwargs))),
            "score_file": ({**SCORE, **FILES, "with_tokens_score": ("switch", True, {})}, score_file),
            "generate_tokens": ({**STEPS, "return_log_prob": ("switch", True, {})},
                                lambda t, **kwargs: list(t.generate_tokens(source[0], **{**short, **kwargs}))),
        }

    def test_wrong_types(self) -> None:
        for name, (options, call) in self.calls().items():
            for option, (kind, _, more) in options.items():
                for value in WRONG[kind]:
                    if option == "offset" and value == -1:
                        continue  # of the right type; another error refuses its value
                    with self.subTest(call=name, option=option, value=value):
                        with self.assertRaisesRegex(TypeError, f"^{option}: .* expected, found") as caught:
                            call(self.mine, **{**more, option: value})
                        self.assertNotIn("SearchOptions", str(caught.exception))
                        if self.real and name in ("translate_batch", "score_batch"):
                            self.assertRaises(TypeError, call, self.real, **{**more, option: value})

    def test_right_types(self) -> None:
        for name, (options, call) in self.calls().items():
            for option, (kind, value, more) in options.items():
                if kind not in ("whole", "number", "switch"):
                    continue
                more = {**more, **({"patience": 2} if option == "num_hypotheses" else {})}
                wanted = call(self.mine, **{**more, option: value})
                for same in right(kind, value):
                    with self.subTest(call=name, option=option, value=repr(same)):
                        found = call(self.mine, **{**more, option: same})
                        self.assertEqual(found, wanted)
                        self.assertTrue(found)

    def test_unknown_options(self) -> None:
        for name, (_, call) in self.calls().items():
            for wrong in ("beamsize", "nonsense", "self_", "SearchOptions"):
                with self.subTest(call=name, option=wrong):
                    with self.assertRaisesRegex(TypeError, f"{'translate_[a-z]*' if 'translate' in name else name}.*'{wrong}'") as caught:
                        call(self.mine, **{wrong: 1})
                    self.assertNotIn("SearchOptions.", str(caught.exception))

    def test_invalid_token_lists(self) -> None:
        for bad in WRONG["tokens"]:
            for number, call in enumerate((
                lambda t: t.translate_batch(bad),
                lambda t: t.translate_batch([["t"]], bad),
                lambda t: t.translate_batch(bad, asynchronous=True),
                lambda t: list(t.translate_iterable(bad)),
                lambda t: t.score_batch(bad, [["t"]]),
                lambda t: t.score_batch([["t"]], bad),
                lambda t: list(t.score_iterable(bad, itertools.repeat(["t"]))),
                lambda t: list(t.generate_tokens(bad, max_decoding_length=2)) if bad not in (["t"], [b"t"]) else ours.Translator(bad),
            )):
                if number in (3, 6) and isinstance(bad, dict):
                    continue  # this iterable of token lists looks like one of one-letter tokens, so its type cannot be checked
                with self.subTest(call=number, bad=bad), self.assertRaises(TypeError):
                    call(self.mine)
        cut = {"source_tokenize_fn": lambda line: line, "target_detokenize_fn": " ".join}
        for kwargs in (cut, {"source_tokenize_fn": 3, "target_detokenize_fn": " ".join}):
            with self.assertRaises(TypeError):
                self.mine.translate_file(self.folder / "in", self.folder / "out", **kwargs)
        for paths in ((3, "out"), (None, "out"), ("in", 3), (["in"], "out"), (0, 1)):
            given = [str(self.folder / one) if isinstance(one, str) else one for one in paths]
            with self.subTest(paths=paths), self.assertRaises(TypeError):
                self.mine.translate_file(*given)

    def test_opening(self) -> None:
        for option, kind in {"device": "text", "inter_threads": "whole", "intra_threads": "whole", "flash_attention": "switch",
                             "tensor_parallel": "switch", "compute_type": "text"}.items():
            for value in WRONG[kind]:
                with self.subTest(option=option, value=value), self.assertRaisesRegex(TypeError, f"^{option}: "):
                    ours.Translator(FOLDER, **{option: value})
        for kwargs in ({"device_index": "0"}, {"device_index": ["0"]}, {"device_index": 0.0}, {"max_queued_batches": "1"}):
            with self.subTest(kwargs=kwargs), self.assertRaises(TypeError):
                ours.Translator(FOLDER, **kwargs)
        for path in (3, None, [str(FOLDER)]):
            with self.subTest(path=path), self.assertRaises(TypeError):
                ours.Translator(path)
        for seed in ("3", 1.5, None, -1):
            with self.assertRaises(TypeError):
                ours.set_random_seed(seed)
        ours.Translator(str(FOLDER), inter_threads=np.int64(1), device_index=[np.int32(0)], max_queued_batches=-1).unload_model()
        with self.assertRaises(TypeError):
            self.mine.unload_model(to_cpu="yes")


class RillCalls(Case):
    """rill's own calls. Settings may be texts, as on the command line. A bool is no number, and a float no whole number."""

    def test_opening(self) -> None:
        path = MODELS / "de-en"
        for kwargs in ({"threads": value} for value in ("1", 1.0, None, b"1", [1], True, np.float32(1), np.True_)):
            for more in (kwargs, {"workers": kwargs["threads"]}):
                with self.subTest(kwargs=more), self.assertRaisesRegex(TypeError, "whole number was expected"):
                    rill.Model(path, **more)
        for kwargs in ({"tokenized": "no"}, {"arguments": 3}, {"arguments": b"x"}, {"plugins": "x.so"},
                     {"plugins": 3}, {"plugins": [3]}, {"domain": 3}, {"domain": b"mt"},
                     {"domain": rill.Domain}, {"device": 1.5j}, {"weights": [1]}):
            with self.subTest(kwargs=kwargs), self.assertRaisesRegex(TypeError, "expected, found"):
                rill.Model(path, **kwargs)
        for wrong in (3, [3], 1.5, {"a": 1}, [None], True):
            with self.subTest(path=wrong), self.assertRaisesRegex(TypeError, "^path: "):
                rill.Model(wrong)
        with rill.Model(str(path).encode(), threads=np.int64(1), workers=np.uint8(1), tokenized=np.False_) as model:
            self.assertTrue(model.decode(CAPTIONS[:1])[0].ok)

    def test_settings(self) -> None:
        for name, wrong in {
            "k": (2.0, 2.5, True, b"2", [2], np.float32(2), np.array([2]), {}, np.True_),
            "length_penalty": (True, b"1", [1.0], np.array([1.0]), {}),
            "unordered": (b"1", [True], np.array([True])),
            "method": (b"greedy", ["greedy"]),
            "absolute": (True, b"2", [b"2"], [[2.0]]),
            "memory": (True, b"1"),
            "heuristic": (b"absolute:2", [3.5j], [None]),
            "scorer": ([b"ban"], [1.5j]),
            "scheduler": ([object()],),
        }.items():
            for value in wrong:
                with self.subTest(name=name, value=value), self.assertRaisesRegex(TypeError, f"^{name}: .* expected, found"):
                    self.model.decode(CAPTIONS[:1], **{name: value})
                if name in ("k", "length_penalty"):
                    with self.subTest(request=name, value=value), self.assertRaisesRegex(TypeError, f"^{name}: "):
                        self.model.decode([rill.Request(CAPTIONS[0], **{name: value})])
        wanted = self.model.decode(CAPTIONS[:2], k=3, length_penalty=0.5, absolute=2.0)
        for k, a, d in ((np.int64(3), np.float64(0.5), np.float32(2)), ("3", "0.5", "2"), (np.uint8(3), np.float32(0.5), np.int64(2)),
                        (np.array(3), np.array(0.5), [np.float64(2)])):
            self.assertEqual(self.model.decode(CAPTIONS[:2], k=k, length_penalty=a, absolute=d), wanted)

    def test_calls(self) -> None:
        model = self.model
        for number, call in enumerate((
            lambda: model.decode(b"x"),
            lambda: model.decode(3),
            lambda: model.decode([b"x"]),
            lambda: model.decode([None]),
            lambda: model.decode([["x"]]),
            lambda: model.stream("x"),
            lambda: model.stream(["x"], prefetch="1"),
            lambda: model.stream(["x"], prefetch=1.0),
            lambda: model.stream(["x"], prefetch=True),
            lambda: model.stream(["x"], trace=3),
            lambda: rill.Request(3),
            lambda: rill.Request(b"x"),
            lambda: rill.Request(None),
            lambda: rill.Request("x", timeout="1"),
            lambda: rill.Request("x", timeout=True),
            lambda: rill.Request("x", arguments="prefix"),
            lambda: rill.Request("x", arguments=["prefix"]),
            lambda: model.decode([rill.Request("x", arguments={"ban": None})], scorer="ban"),
            lambda: model.decode([rill.Request("x", arguments={"ban": b"dog"})], scorer="ban"),
            lambda: model.decode([rill.Request("x", arguments={"ban": ["dog", None]})], scorer="ban"),
            lambda: model.score("ab"),
            lambda: model.score([("x", b"dog")]),
            lambda: model.score([("x", [1.5])]),
            lambda: model.score([("x", ["5"])]),
            lambda: model.score([("x", 3)]),
            lambda: model.score([("x", None)]),
            lambda: model.score([(3, "x")]),
            lambda: model.id_to_token("3"),
            lambda: model.id_to_token(3.0),
            lambda: model.id_to_token(None),
            lambda: model.token_to_id(3),
            lambda: model.token_to_id(b"dog"),
            lambda: model.tokenize(None),
            lambda: model.tokenize(b"dog"),
            lambda: model.stream(["x"]).cancel("0"),
            lambda: model.stream(["x"]).cancel(0.0),
        )):
            with self.subTest(call=number), self.assertRaises(TypeError):
                call()
        (dog,) = model.tokenize("dog")
        self.assertEqual(model.id_to_token(np.int64(dog)), model.id_to_token(dog))
        ids = model.decode(CAPTIONS[:1])[0].best.ids
        scored = model.score([(CAPTIONS[0], ids), (CAPTIONS[0], np.array(ids)), (CAPTIONS[0], [np.int32(one) for one in ids])])
        self.assertEqual({result.best.logp for result in scored}, {scored[0].best.logp})
        request = rill.Request(CAPTIONS[0], timeout=np.float32(60), arguments={"ban": np.str_("dog")})
        self.assertTrue(model.decode([request], scorer="ban")[0].ok)

    def test_generate(self) -> None:
        whole = ("num_beams", "num_return_sequences", "max_length", "max_new_tokens", "min_length", "no_repeat_ngram_size",
                 "num_beam_groups")
        for name in (*whole, "length_penalty", "repetition_penalty", "do_sample"):
            for value in (*(("2", 2.0, b"2", [2], -1) if name in whole else ("2", b"2", [2.0])),):
                with self.subTest(name=name, value=value), self.assertRaisesRegex(TypeError, f"^{name}: "):
                    generate(self.model, CAPTIONS[:1], **{name: value})
        for inputs in ("x", b"x", 3, [3]):
            with self.assertRaises(TypeError):
                generate(self.model, inputs)
        wanted = generate(self.model, CAPTIONS[:2], num_beams=3, length_penalty=0.5)
        self.assertEqual(generate(self.model, CAPTIONS[:2], num_beams=np.int64(3), length_penalty=np.float64(0.5)), wanted)


if __name__ == "__main__":
    unittest.main()
