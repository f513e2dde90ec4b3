"""The package's names and types. Settings are those of the option tables, old names are refused, and public signatures have types."""

from __future__ import annotations

import ast
import inspect
import pathlib
import subprocess
import sys
import tempfile
import typing
import unittest

import rill
from common import CAPTIONS, MODELS, ROOT, Case
from rill import views

PACKAGE = pathlib.Path(rill.__file__).parent


class Settings(Case):
    def test_the_file_is_what_the_tables_give(self) -> None:
        command = [sys.executable, ROOT / "tools" / "python_settings.py", "-"]
        made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        self.assertEqual(made, (ROOT / "python" / "rill" / "settings.py").read_text(encoding="utf-8"))
        for option in rill.options():
            self.assertTrue(option.name in rill.ModelSettings.__annotations__ or hasattr(rill.Model, option.name) or option.name in
                            inspect.signature(rill.Model).parameters, option.name)

    def test_unknown_names_are_refused_at_the_call(self) -> None:
        model = self.model
        for name, near, call in (
            ("n_bst", "n_best", lambda **wrong: rill.Model(MODELS / "de-en", **wrong)),
            ("threds", "threads", lambda **wrong: rill.Model(MODELS / "de-en", **wrong)),
            ("length_penalti", "length_penalty", lambda **wrong: model.decode([], **wrong)),
            ("trase", "trace", lambda **wrong: model.stream([], **wrong)),
            ("prefech", "prefetch", lambda **wrong: model.decode([], **wrong)),
            ("n_bst", "n_best", lambda **wrong: model.score([], **wrong)),
            ("max_lenght", "max_length", lambda **wrong: rill.Request("x", **wrong)),
            ("timeot", "timeout", lambda **wrong: rill.Request("x", **wrong)),
        ):
            with self.subTest(name), self.assertRaisesRegex(rill.OptionError, f'"{name}": did you mean "{near}"') as caught:
                call(**{name: 1})
            self.assertIsInstance(caught.exception, TypeError)
        with self.assertRaisesRegex(rill.OptionError, 'unknown .*"quite_another_thing"'):
            rill.Request("x", quite_another_thing=None)  # type: ignore[call-arg]
        self.assertEqual(rill.Request("x", **{"n-best": 2}).settings, {"n-best": 2})  # type: ignore[arg-type]
        self.assertTrue(rill.Request("(CD included)", input_format="text", tokenized=True).settings)

    def test_former_names(self) -> None:
        for call, name in (
            (lambda: rill.Request("x", seconds=1), "timeout="),
            (lambda: rill.Request("x", user=1), "tag="),
            (lambda: self.model.stream([], ahead=1), "prefetch="),
        ):
            with self.assertRaisesRegex(rill.OptionError, f"is now {name}"):
                call()
        result = self.model.decode(CAPTIONS[:1])[0]
        for thing, former, name in (
            (result.best, "rank_score", "score"),
            (result.best, "word_scores", "token_logprobs"),
            (result.best, "ended", "finish_reason"),
            (result, "late", "timed_out"),
            (result, "note", "warnings"),
            (result, "found", "outputs_found"),
            (result, "user", "tag"),
            (self.model, "name", "id_to_token"),
            (self.model, "find", "token_to_id"),
            (rill.Request("x"), "seconds", "timeout"),
            (rill, "LateError", "DeadlineError"),
            (rill, "MemoryShortError", "OutOfMemoryError"),
            (rill, "Beams", "Candidates"),
        ):
            with self.subTest(former), self.assertRaisesRegex(AttributeError, f"is now .*\\b{name}$"):
                getattr(thing, former)
            self.assertFalse(hasattr(thing, former))
            self.assertTrue(hasattr(thing, name))
        with self.assertRaisesRegex(AttributeError, "has no attribute"):
            result.nothing  # type: ignore[attr-defined]

    def test_three_numbers(self) -> None:
        def plus_two(rows: rill.ScorerRows, modifiers: rill.Modifiers) -> None:
            for row in range(rows.n):
                modifiers.end_reward(row, 2.0)

        best = self.model.decode(CAPTIONS[:1], length_penalty=1.0, scorer=plus_two)[0].best
        self.assertAlmostEqual(best.logp, sum(best.token_logprobs), places=4)
        self.assertAlmostEqual(best.path_score, best.logp + 2, places=4)
        self.assertAlmostEqual(best.score, best.path_score / best.length, places=4)
        self.assertEqual(len(best.tokens), len(best.ids))

    def test_representations(self) -> None:
        results = self.model.decode([rill.Request(CAPTIONS[0], tag="mine"), "\0"], n_best=2)
        self.assertRegex(repr(results[0]), r"^rill.Result\(id=0, '.*', score=-[0-9.]+, finish_reason='stop', outputs=2, tag='mine'\)$")
        self.assertRegex(repr(results[1]), r"^rill.Result\(id=1, error=InputError\('there is a NUL in the text'\)\)$")
        self.assertRegex(repr(results[0].best), r"^rill.Output\('.*', score=.*, logp=.*, length=[0-9]+, finish_reason='stop'\)$")
        self.assertRegex(repr(self.model), r"^rill.Model\('.*de-en'\)$")
        self.assertEqual(repr(rill.Request("x", timeout=2, k=3)), "rill.Request('x', timeout=2.0, k=3)")
        self.assertRegex(repr(rill.options()[0]), r"^<rill.Option method=.*>$")
        stream = self.model.stream(CAPTIONS[:2])
        next(stream)
        self.assertRegex(repr(stream), r"^<rill.Stream of rill.Model\(.*\): 2 inputs read, 1 results given>$")
        stream.close()
        self.assertRegex(repr(stream), r": closed>$")


    def test_arguments_of_other_places_are_explained(self) -> None:
        decode = {"timeout": "rill.Request", "deadline": "timeout=", "settings": "beam_size=5", "return_scores": "path_score"}
        for name, words in decode.items():
            with self.subTest(name=name), self.assertRaisesRegex(rill.OptionTypeError, words):
                self.model.decode(CAPTIONS[:1], **{name: 1})
        for name, words in {"intra_threads": "threads=", "inter_threads": "workers=", "jobs": "workers="}.items():
            with self.subTest(name=name), self.assertRaisesRegex(rill.OptionTypeError, words):
                rill.Model(ROOT / "examples" / "models" / "geo", **{name: 1})

    def test_fewer_outputs_are_explained(self) -> None:
        for timeout, found in ((None, False), (1e-6, True)):
            self.assertEqual(self.model.decode([rill.Request(CAPTIONS[0], timeout=timeout)])[0].timed_out, found)
        short, full = (self.model.decode(CAPTIONS[:1], beam_size=3, n_best=n)[0] for n in (9, 3))
        self.assertEqual(short.warnings, [f"{len(short.outputs)} of 9 outputs: beam-size is smaller than n-best"])
        self.assertEqual((full.warnings, len(full.outputs)), ([], 3))
        joined = self.model.decode([f"{CAPTIONS[0]} {CAPTIONS[1]}"], beam_size=3, n_best=9, split="sentences")[0]
        self.assertEqual(joined.warnings, [f"{len(joined.outputs)} of 9 outputs: beam-size is smaller than n-best"])

    def test_workers_auto(self) -> None:
        with rill.Model(ROOT / "examples" / "models" / "geo", workers="auto") as model:
            self.assertTrue(model.decode(["what states border texas"])[0].ok)


class Types(unittest.TestCase):
    def test_no_any_in_public_signatures(self) -> None:
        """Signatures of all public functions, methods and typed fields in public modules have types, none of them Any."""
        found = []
        for path in (*PACKAGE.glob("*.py"), *(PACKAGE / "compat").glob("*.py")):
            if path.stem in ("_native", "binding", "context", "workers", "errors", "kinds", "opened", "split", "tables", "hooks",
                             "ct2_options"):
                continue  # internal modules; their exported names are checked below
            found += [f"{path.name}: {one}" for one in self.untyped(ast.parse(path.read_text(encoding="utf-8")))]
        for name in rill.__all__:
            thing = getattr(rill, name)
            if inspect.isclass(thing) and not typing.get_origin(thing) and thing.__module__.startswith("rill."):
                tree = ast.parse(inspect.getsource(thing))
                found += [f"{name}: {one}" for one in self.untyped(tree)]
        self.assertEqual(sorted(set(found)), [])

    #: Classes with public names in their modules that only the package uses.
    INTERNAL = ("Engine", "Local", "RequestFiller", "Reader", "Vocabulary", "Lent", "View", "Loan", "SearchOptions", "Feed", "Shards")
    INTERNAL_FUNCTIONS = ("over", "as_table", "state_type", "state_bytes", "fields_of", "read_alignment", "as_request", "given_requests",
                          "register", "lines_of")

    def untyped(self, tree: ast.AST, inside: str = "") -> typing.Iterator[str]:
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in self.INTERNAL:
                yield from self.untyped(node, node.name + ".")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                name = node.name
                public = not name.startswith("_") or name in ("__init__", "__call__", "__next__", "__iter__")
                if name == "__init__" and inside in ("Stream.", "ScorerRows."):
                    continue  # only rill makes these objects
                if not public or name in self.INTERNAL_FUNCTIONS or name.startswith("rillpy_"):
                    continue
                a = node.args
                given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
                annotations = [*(one.annotation for one in given), node.returns]
                texts = [ast.unparse(one) for one in annotations if one is not None]
                if any(self.is_any(text) for text in texts):
                    yield f"{inside}{name}"
            elif isinstance(node, ast.AnnAssign) and inside and self.is_any(ast.unparse(node.annotation)):
                if isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
                    yield f"{inside}{node.target.id}"

    @staticmethod
    def is_any(annotation: str) -> bool:
        shape_free = annotation.replace("np.ndarray[Any, ", "np.ndarray[")  # NumPy's type of a shape is Any
        return any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(ast.parse(shape_free, mode="eval")))

    def test_attributes_of_arguments_are_those_of_the_structs(self) -> None:
        for lent in (views.Candidates, views.SchedView, views.ScorerRows, views.DomainRows):
            self.assertEqual(set(lent.__annotations__), {*lent._arrays, *lent._numbers}, lent)
            for name in lent.__annotations__:
                self.assertIn(f"\n    {name}: ", inspect.getdoc(lent) or "")

    def test_every_public_function_is_documented(self) -> None:
        for name in rill.__all__:
            thing = getattr(rill, name)
            if not inspect.isclass(thing) or typing.get_origin(thing) or thing.__module__ in ("rill.settings", "rill.callbacks"):
                continue
            self.assertTrue(thing.__doc__, name)
            for method, function in vars(thing).items():
                if not inspect.isfunction(function) or method.startswith("_") and method != "__init__":
                    continue
                doc, parameters = inspect.getdoc(function) or "", list(inspect.signature(function).parameters)[1:]
                made_by_rill = method == "__init__" and name in ("ScorerRows", "Stream")
                if issubclass(thing, Exception) or method in ("close", "aclose") or made_by_rill:
                    continue
                self.assertTrue(doc, f"{name}.{method}")
                for parameter in parameters:
                    self.assertIn(f"\n    {parameter}: ", doc, f"{name}.{method}")

    def test_mypy_refuses_wrong_types(self) -> None:
        try:
            from mypy import api
        except ImportError:
            self.skipTest("mypy is not installed")
        right = [
            "model.decode(['x'], k=3, n_best=2, stop='count', heuristic=['absolute:1.5'], alignment=True, memory='2G')",
            "model.decode(['x'], heuristic=prune, scorer=['prefix', score], scheduler=None)",
            "rill.Model('x', n_best=2, device='cpu')",
            "rill.Request('x', timeout=3, length_penalty=0.5)",
            "model.decode(['x'])[0].best.token_logprobs[0] + 1.0",
        ]
        wrong = [
            "model.decode(['x'], k='3')",
            "model.decode(['x'], stop='never')",
            "model.decode(['x'], beamsize=3)",
            "model.decode(['x'], heuristic=3)",
            "rill.Model('x', k=0.5)",
            "rill.Request('x', timeout='1')",
            "rill.Request('x', method='greedy')",
            "model.decode(['x'])[0].best.rank_score",
            "model.decode(['x'], scorer=prune)",
        ]
        head = ["import rill", "model = rill.Model('x')", "def prune(candidates: rill.Candidates) -> None: ...",
                "def score(rows: rill.ScorerRows, modifiers: rill.Modifiers) -> None: ..."]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "program.py")
            path.write_text("\n".join([*head, *right, *wrong]) + "\n")
            out, _, _ = api.run(["--strict", "--cache-dir", str(pathlib.Path(folder, "cache")), "--show-traceback", str(path)])
        lines = {int(line.split(":")[1]) for line in out.splitlines() if ": error:" in line}
        first = len(head) + len(right) + 1
        self.assertEqual(lines, set(range(first, first + len(wrong))), out)


if __name__ == "__main__":
    unittest.main()
