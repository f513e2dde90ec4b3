"""Models, streams, settings and errors."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import pickle
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from collections.abc import AsyncIterator, Iterator
from typing import Any

import rill
from common import CAPTIONS, COMMAND, MODELS, QUESTIONS, Case


def command(*arguments: str, lines: list[str]) -> list[str]:
    text = "\n".join(lines) + "\n"
    run = subprocess.run([COMMAND, "decode", "--quiet", *arguments], input=text, text=True, capture_output=True, check=True)
    return run.stdout.removesuffix("\n").split("\n")


class Decode(Case):
    def test_same_as_the_command(self) -> None:
        for model, lines in (("de-en", CAPTIONS), ("geo", QUESTIONS)):
            wanted = command("-m", str(MODELS / model), lines=lines)
            with rill.Model(MODELS / model) as opened:
                self.assertEqual([result.text for result in opened.decode(lines)], wanted)

    def test_settings_reach_the_search(self) -> None:
        kwargs = ["-k", "20", "--n-best", "3", "--heuristic", "absolute:4", "--like", "hf"]
        wanted = command("-m", str(MODELS / "de-en"), *kwargs, lines=CAPTIONS[:3])
        results = self.model.decode(CAPTIONS[:3], k=20, n_best=3, heuristic=["absolute:4"], like="hf")
        outputs = [(result.id, output) for result in results for output in result.outputs]
        self.assertEqual([f"{i} ||| {output.text}" for i, output in outputs], [line.split(" ||| logp=")[0] for line in wanted])
        for (_, output), line in zip(outputs, wanted):
            self.assertAlmostEqual(output.logp, float(line.split("logp= ")[1].split()[0]), places=4)

    def test_model_settings_are_defaults(self) -> None:
        with rill.Model(MODELS / "de-en", n_best=2) as model:
            self.assertEqual(len(model.decode(CAPTIONS[:1])[0].outputs), 2)
            self.assertEqual(len(model.decode(CAPTIONS[:1], n_best=3)[0].outputs), 3)

    def test_an_input_may_not_contradict_the_run(self) -> None:
        with self.assertRaisesRegex(rill.OptionError, "beam_size 7 differs from num_samples 2"):
            self.model.decode([CAPTIONS[0], rill.Request(CAPTIONS[0], k=7)], sample=2, seed=1)

    def test_fields(self) -> None:
        result = self.model.decode(["Zwei Katzen schlafen."], alignment=True)[0]
        output = result.best
        self.assertTrue(result.ok and not output.truncated and output.finish_reason == "stop")
        self.assertEqual(len(output.ids), len(output.tokens))
        self.assertAlmostEqual(sum(output.token_logprobs), output.logp, places=4)
        self.assertEqual(output.tokens[-1], "</s>")
        self.assertEqual(output.alignment[0], (0, 0))  # type: ignore[index]
        soft = self.model.decode(["Zwei Katzen schlafen."], alignment="soft")[0].best.alignment
        self.assertEqual(len(soft), len(output.ids))  # type: ignore[arg-type]
        self.assertAlmostEqual(sum(soft[0]), 1, places=4)  # type: ignore[index,arg-type]
        cut = self.model.decode(CAPTIONS[:1], max_length=3)[0].best
        self.assertEqual((cut.finish_reason, cut.length), ("length", 3))

    def test_a_blank_line_has_an_empty_output(self) -> None:
        self.assertEqual([result.text for result in self.model.decode(["  ", "Zwei Katzen schlafen."])][0], "")

    def test_names(self) -> None:
        ids = self.model.tokenize("Two cats")
        self.assertEqual([self.model.token_to_id(self.model.id_to_token(action)) for action in ids], ids)
        self.assertIsNone(self.model.token_to_id("no such piece at all"))
        with self.assertRaises(IndexError):
            self.model.id_to_token(10**6)

    def test_score_is_that_of_decoding(self) -> None:
        found = self.model.decode(CAPTIONS[:4])
        scored = self.model.score((text, result.best.ids) for text, result in zip(CAPTIONS, found))
        self.assertEqual([result.best.logp for result in scored], [result.best.logp for result in found])
        with self.assertRaises(rill.OptionError):
            self.model.score([("a", "b")], k=3)

    def test_an_ensemble(self) -> None:
        with rill.Model([MODELS / "de-en", MODELS / "de-en"]) as pair:
            self.assertEqual([r.text for r in pair.decode(CAPTIONS[:3])], [r.text for r in self.model.decode(CAPTIONS[:3])])


class Errors(Case):
    def test_options(self) -> None:
        for name, settings in {
            "did you mean": {"max_candidate": 3},
            "from 1 to 65536": {"k": 0},
            "method greedy": {"method": "greedy", "k": 5},
            "beam_size is given twice": {"num_beams": 4, "k": 5},
            "an option of opening a model": {"weights": "int8"},
            "every output has ids": {"word_scores": True},
            "prefetch": {"prefetch": 0},
            "heuristic": {"heuristic": "nosuch"},
            "a whole number": {"k": [1]},
        }.items():
            with self.subTest(name), self.assertRaises(rill.Error) as caught:
                self.model.decode(["x"], **settings)
            self.assertIn(name, str(caught.exception))

    def test_opening(self) -> None:
        model = MODELS / "de-en"
        for path, settings in (("nowhere", {}), (MODELS, {}), (None, {}), (model, {"weights": "int3"}), (model, {"threads": 0})):
            with self.subTest(path=path), self.assertRaises(rill.Error):
                rill.Model(path, **settings)

    def test_numbers_and_texts_that_c_would_cut(self) -> None:
        path = str(MODELS / "de-en")
        for call in (
            lambda: rill.Model(path + "\0x"),
            lambda: rill.Model([path, path + "\0x"]),
            lambda: rill.Model(path, domain="mt\0x"),
            lambda: rill.Model(path, plugins=[path + "\0x"]),
            lambda: rill.Model(path, weights="f32\0x"),
            lambda: self.model.decode(["x"], method="greedy\0x"),
            lambda: self.model.decode(["x"], **{"k\0x": 2}),
            lambda: self.model.decode(["x"], heuristic="absolute:1\0x"),
            lambda: self.model.decode(["x"], scorer=["ban:dog\0x"]),
            lambda: self.model.decode([rill.Request("x", length_penalty="0.5\0x")]),
            lambda: self.model.decode([rill.Request("x", **{"k\0x": 2})]),
            lambda: self.model.decode([rill.Request("x", arguments={"ban": "dog\0x"})], scorer="ban"),
        ):
            with self.assertRaisesRegex(rill.OptionError, "there is a NUL"):
                call()
        for name, value in (("k", 2**32 + 5), ("n_best", 2**32 + 1), ("seed", 2**64 + 1), ("max_length", -(2**32) + 9)):
            for inputs, kwargs in ((["x"], {name: value}), ([rill.Request("x", **{name: value})], {})):
                with self.subTest(name=name), self.assertRaises(rill.OptionError):
                    self.model.decode(inputs, **kwargs)
        for call in (
            lambda: self.model.id_to_token(2**32 + 8),
            lambda: rill.Model(path, threads=2**32 + 1),
            lambda: rill.Model(path, workers=2**32 + 1),
        ):
            with self.assertRaises((OverflowError, rill.OptionError, IndexError)):
                call()
        for wrong in (2**32 + 8, -(2**32) + 8, 2**63, 2**70, -1):
            with self.subTest(action=wrong), self.assertRaises(rill.Error):
                self.model.score([("x", [wrong])])[0].text
        for workers in (1, 2):
            with rill.Model(path, workers=workers) as model, model.stream(CAPTIONS[:3]) as stream:
                first = next(stream)
                self.assertEqual([stream.cancel(2**32 + 1), stream.cancel(-1), stream.cancel(first.id)], [False] * 3)
                self.assertEqual([result.ok for result in stream], [True] * 2)

    def test_a_text_that_is_none_fails_alone(self) -> None:
        for name, text in (("de-en", "Ein Hund läuft im Schnee."), ("geo", "what states border texas"), ("gum", "The dog barks .")):
            for workers in (1, 2):
                with rill.Model(MODELS / name, workers=workers) as model:
                    plain = model.decode([text])[0]
                    texts = ["\0", text, text.replace(" ", "\0 "), text + "\0", text * 30 + "\0", "\udcff", text + "\udcff", text]
                    for inputs in (texts, [rill.Request(one, tag=i) for i, one in enumerate(texts)]):
                        found = model.decode(inputs)
                        self.assertEqual([result.id for result in found], list(range(len(texts))))
                        best = [result.best if result.ok else None for result in found]
                        self.assertEqual(best, [plain.best if one == text else None for one in texts])
                        for one, result in zip(texts, found):
                            if one != text:
                                self.assertIs(type(result.error), rill.InputError)
                                why = "there is a NUL" if "\0" in one else "character [0-9]+ of the text, .*udcff"
                                self.assertRegex(str(result.error), why)
                        self.assertEqual(found[-1].tag, None if inputs is texts else len(texts) - 1)
        self.assertRegex(str(self.model.score([("x\0", "dog")])[0].error), "there is a NUL")
        self.assertEqual(self.model.token_to_id("▁dog"), self.model.tokenize("dog")[0])
        self.assertIsNone(self.model.token_to_id("▁dog\0"))
        self.assertIsNone(self.model.token_to_id("▁dog\0x"))
        with self.assertRaises(rill.InputError):
            self.model.tokenize("dog\0x")
        with self.assertRaisesRegex(rill.OptionError, "there is a NUL"):
            self.model.score([("x", "dog\0x")])

    def test_inputs(self) -> None:
        with self.assertRaises(TypeError):
            self.model.decode("one text")
        with self.assertRaises(TypeError):
            self.model.decode([3])  # type: ignore[list-item]
        long = self.model.decode(["wort " * 5000, CAPTIONS[0]])
        self.assertFalse(long[0].ok)
        with self.assertRaises(rill.Error):
            long[0].text
        self.assertTrue(long[1].ok)

    def test_a_failing_source_gives_what_was_read_first(self) -> None:
        def source() -> Iterator[str]:
            yield from CAPTIONS[:2]
            raise KeyError("mine")

        found = []
        with self.assertRaises(KeyError):
            for result in self.model.stream(source()):
                found.append(result.text)
        self.assertEqual(len(found), 2)

    def test_a_closed_model(self) -> None:
        model = rill.Model(MODELS / "de-en")
        stream = model.stream(CAPTIONS[:2])
        model.close()
        with self.assertRaises(ValueError):
            model.decode(["x"])
        self.assertEqual(len(list(stream)), 2)


class Streams(Case):
    def test_an_endless_source(self) -> None:
        taken = 0

        def source() -> Iterator[str]:
            nonlocal taken
            for text in itertools.cycle(CAPTIONS):
                taken += 1
                yield text

        wanted = [result.text for result in self.model.decode(CAPTIONS)]
        with self.model.stream(source()) as stream:
            found = [result.text for result in itertools.islice(stream, 300)]
        self.assertEqual(found, list(itertools.islice(itertools.cycle(wanted), 300)))
        self.assertLess(taken, 1500)
        with self.assertRaises(StopIteration):
            next(stream)

    def test_line_in_line_out(self) -> None:
        asked = []

        def source() -> Iterator[str]:
            for text in CAPTIONS[:3]:
                asked.append(text)
                yield text

        for i, _ in enumerate(self.model.stream(source(), prefetch=1)):
            self.assertEqual(len(asked), i + 1)

    def test_requests(self) -> None:
        requests = [
            rill.Request(CAPTIONS[0], k=3, n_best=2, tag="mine"),
            CAPTIONS[0],
            rill.Request(CAPTIONS[0], arguments={"prefix": "The"}),
            rill.Request(CAPTIONS[0], arguments={"ban": ["dog", "man"]}),
        ]
        found = self.model.decode(requests, scorer=["prefix", "ban"])
        self.assertEqual([len(result.outputs) for result in found], [2, 1, 1, 1])
        self.assertEqual([result.tag for result in found], ["mine", None, None, None])
        self.assertTrue(found[2].text.startswith("The"))
        alone = self.model.decode(CAPTIONS[:1])[0]
        self.assertEqual(found[1].best, alone.best)
        for bad in (dict(method="greedy"), dict(kk=1), dict(weights="int8"), dict(arguments={"prefix": "x"})):
            with self.subTest(bad=bad), self.assertRaises(rill.OptionError):
                self.model.decode([rill.Request("x", **bad)])  # type: ignore[arg-type]

    def test_the_form_of_one_input(self) -> None:
        """A request's options of reading work as a model's do, whatever other requests are in the batch."""
        tree = "(S (NP (DT The) (NN cat)) (VP (VBD sat)))"
        forms: list[tuple[dict[str, Any], list[str]]] = [
            ({}, []),
            ({"input_format": "text"}, ["--input-format", "text"]),
            ({"input_format": "tree"}, ["--input-format", "tree"]),
            ({"tokenized": True}, ["--tokenized"]),
            ({"input_format": "text", "tokenized": True, "k": 1}, ["--input-format", "text", "--tokenized", "-k", "1"]),
            ({"input_format": None, "tokenized": False}, []),
        ]
        texts = ["(CD included)", tree, "Don't go."]
        wanted = ["no tree" if "tree" in options and text == texts[2] else command("-m", str(MODELS / "gum"), *options, lines=[text])[0]
                  for _, options in forms for text in texts]
        for workers in (1, 2):
            with rill.Model(MODELS / "gum", workers=workers) as model:
                found = model.decode([rill.Request(text, **form) for form, _ in forms for text in texts])
                self.assertEqual([result.text if result.ok else "no tree" for result in found], wanted)
                for bad in ({"input_format": "table"}, {"input_format": "text tokenized=1"}, {"tokenized": 3}, {"tokenised": True}):
                    with self.subTest(bad=bad), self.assertRaisesRegex(rill.OptionError, "input.format|tokeni.ed"):
                        model.decode([rill.Request("x", **bad)])
        with self.assertRaisesRegex(rill.OptionError, "tokenized"):
            self.model.decode([rill.Request("x", tokenized=True)])

    def test_cancelling_and_deadlines(self) -> None:
        with self.model.stream(itertools.chain(CAPTIONS * 3), n=2, sort="none") as stream:
            first = next(stream)
            self.assertTrue(stream.cancel(stream._taken - 1))
            self.assertFalse(stream.cancel(first.id))
            rest = list(stream)
        self.assertEqual([type(result.error) for result in rest if not result.ok], [rill.CancelledError])
        late = self.model.decode([rill.Request(CAPTIONS[0], timeout=1e-9)])[0]
        self.assertTrue(late.timed_out or isinstance(late.error, rill.DeadlineError))

    def test_finish_reasons_of_a_timed_out_result(self) -> None:
        """After a timeout, each output says whether it is finished."""
        seen: list[rill.Output] = []
        for steps in range(4, 60, 2):
            timesteps = itertools.count()

            def trace(event: rill.TraceEvent) -> None:
                if event.kind == "timestep" and next(timesteps) == steps:
                    time.sleep(0.6)

            request = rill.Request(CAPTIONS[0], timeout=0.5)
            with self.model.stream([request], trace=trace, k=20, n_best=20, method="fixed") as stream:
                result = next(stream)
            if not result.timed_out or not result.ok:
                continue
            end = self.model.info.end_action
            for output in result.outputs:
                self.assertEqual(output.finish_reason, "stop" if output.ids[-1:] == [end] else "timeout")
                self.assertEqual(output.truncated, output.finish_reason != "stop")
            seen += result.outputs
            if {output.finish_reason for output in seen} == {"stop", "timeout"}:
                break
        self.assertIn("stop", {output.finish_reason for output in seen})

    def test_trace_and_stats(self) -> None:
        events: list[rill.TraceEvent] = []
        with self.model.stream(CAPTIONS[:3], trace=events.append) as stream:
            list(itertools.islice(stream, 3))
            self.assertEqual(stream.stats["inputs"], 3)
        self.assertEqual(sum(event.kind == "finished" for event in events), 3)
        with self.assertRaises(ZeroDivisionError):
            self.model.decode(CAPTIONS[:1], trace=lambda event: 1 // 0)

    def test_one_thread_at_a_time(self) -> None:
        def again(event: rill.TraceEvent) -> None:
            next(stream)

        stream = self.model.stream(CAPTIONS[:2], trace=again)
        with self.assertRaisesRegex(RuntimeError, "advanced already"):
            list(stream)

    def test_threads_share_a_model(self) -> None:
        wanted = [result.text for result in self.model.decode(CAPTIONS)]
        found: dict[int, list[str]] = {}

        def work(i: int) -> None:
            found[i] = [result.text for result in self.model.stream(CAPTIONS)]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(list(found.values()), [wanted] * 4)


class Workers(Case):
    def test_the_same_as_one(self) -> None:
        wanted = self.model.decode(CAPTIONS, n_best=2)
        with rill.Model(MODELS / "de-en", workers=2) as model:
            for _ in range(2):
                self.assertEqual(model.decode(CAPTIONS, n_best=2), wanted)
            with model.stream(CAPTIONS) as one, model.stream(CAPTIONS) as other:
                self.assertEqual([a.text for a in one], [b.text for b in other])
            with model.stream(itertools.cycle(CAPTIONS)) as stream:
                found = list(itertools.islice(stream, 50))
                self.assertGreaterEqual(stream.stats["inputs"], 50)
            self.assertEqual([r.id for r in found], list(range(50)))
            pairs = model.score((text, result.best.ids) for text, result in zip(CAPTIONS, wanted))
            self.assertEqual([r.best.logp for r in pairs], [r.best.logp for r in wanted])
            dropped = model.stream(itertools.cycle(CAPTIONS))
            next(dropped)
            del dropped
            self.assertTrue(model.decode([rill.Request(CAPTIONS[0], tag=4)])[0].tag == 4)

    def test_failures(self) -> None:
        def source() -> Iterator[str]:
            yield from CAPTIONS[:2]
            raise KeyError("mine")

        with rill.Model(MODELS / "de-en", workers=2) as model:
            with self.assertRaises(KeyError):
                list(model.stream(source()))
            with self.assertRaises(rill.OptionError):
                model.decode(["x"], method="greedy", k=5)
            with model.stream(itertools.cycle(CAPTIONS)) as stream:
                # the newest input may not be queued yet, or may already be decoded on a busy machine
                self.assertTrue(any(next(stream) and stream.cancel(stream._taken - 1) for _ in range(100)))
                self.assertFalse(stream.cancel(0))
            self.assertEqual(len(model.decode(CAPTIONS[:2])), 2)


class Asynchronous(Case):
    def test_both_kinds_of_iterables(self) -> None:
        wanted = [result.text for result in self.model.decode(CAPTIONS)]

        async def source() -> AsyncIterator[str]:
            for text in CAPTIONS:
                await asyncio.sleep(0)
                yield text

        async def all_of(inputs: object) -> list[str]:
            return [result.text async for result in self.model.stream(inputs)]  # type: ignore[arg-type]

        async def both() -> None:
            one, other = await asyncio.gather(all_of(CAPTIONS), all_of(source()))
            self.assertEqual((one, other), (wanted, wanted))

        asyncio.run(both())

    def test_answers_come_while_inputs_are_waited_for(self) -> None:
        async def talk() -> None:
            answered = asyncio.Event()

            async def source() -> AsyncIterator[str]:
                yield CAPTIONS[0]
                await asyncio.wait_for(answered.wait(), 20)
                yield CAPTIONS[1]

            found = []
            async for result in self.model.stream(source()):
                found.append(result.text)
                answered.set()
            self.assertEqual(len(found), 2)

        asyncio.run(talk())

    def test_failures_and_giving_up(self) -> None:
        async def source() -> AsyncIterator[str]:
            for text in CAPTIONS[:3]:
                yield text
            raise KeyError("mine")

        async def fails() -> None:
            found = []
            with self.assertRaises(KeyError):
                async for result in self.model.stream(source()):
                    found.append(result.text)
            self.assertEqual(found, [result.text for result in self.model.decode(CAPTIONS[:3])])

        async def given_up() -> None:
            async with self.model.stream(itertools.cycle(CAPTIONS)) as stream:
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(self.count(stream), 0.5)

        asyncio.run(fails())
        asyncio.run(given_up())
        with self.assertRaises(TypeError):
            list(self.model.stream(source()))

    @staticmethod
    async def count(stream: rill.Stream) -> int:
        return sum([1 async for _ in stream])


class Processes(Case):
    def test_pickling(self) -> None:
        again = pickle.loads(pickle.dumps(self.model))
        self.assertEqual(again.decode(CAPTIONS[:2]), self.model.decode(CAPTIONS[:2]))
        result = self.model.decode(CAPTIONS[:1])[0]
        self.assertEqual(pickle.loads(pickle.dumps(result)), result)
        error = self.model.decode(["wort " * 5000])[0].error
        self.assertEqual(str(pickle.loads(pickle.dumps(error))), str(error))

    def test_fork(self) -> None:
        stream = self.model.stream(CAPTIONS)
        next(stream)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                text = self.model.decode(CAPTIONS[:1])[0].text
                try:
                    next(stream)
                except RuntimeError:
                    code = 0 if text else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(len(list(stream)), len(CAPTIONS) - 1)

    def test_long_inputs_are_decoded_as_sentences(self) -> None:
        sentences = ["Ein Hund läuft über die Wiese.", "Am 23. Mai spielt ein Kind im Garten.", "Eine Frau kauft Obst auf dem Markt."] * 12
        paragraph, apart = " ".join(sentences), self.model.decode(sentences)
        for settings in ({}, {"n": 1}, {"split": "sentences"}):
            results = self.model.decode([paragraph, sentences[0], "", rill.Request(paragraph, tag=7)], **settings)
            self.assertEqual([result.id for result in results], [0, 1, 2, 3])
            self.assertEqual(results[0].text, " ".join(result.text for result in apart))
            self.assertEqual(results[0].best.length, sum(result.best.length for result in apart))
            self.assertEqual(results[0].best.ids, [one for result in apart for one in result.best.ids])
            self.assertEqual([result.text for result in results[1:]], [apart[0].text, "", results[0].text])
            self.assertEqual(([result.tag for result in results], results[0].warnings), ([None, None, None, 7], []))
        with rill.Model(self.model._recipe.paths[0], workers=2) as several:
            self.assertEqual(several.decode([paragraph, sentences[1]])[0].text, results[0].text)
        self.assertIn("tokens", str(self.model.decode([paragraph], split="off")[0].error))
        short = self.model.decode([" ".join(sentences[:6])], split="off", max_length=3)[0]
        self.assertEqual(short.best.finish_reason, "length")
        self.assertEqual(short.warnings, [
            "the output is shorter than a third of its input: text may be missing "
            "(split='sentences' decodes each sentence alone)"])
        for wrong in ({"split": "words"}, {"split": "sentences", "alignment": True}):
            with self.assertRaises(rill.OptionError):
                self.model.decode([paragraph], **wrong)

    def test_sentences_are_joined_as_the_command_joins_them(self) -> None:
        sentence = "Ein Hund läuft über die Wiese."
        place = str(MODELS / "de-en")
        for text in (" ".join([sentence] * 3), "Ein Hund.\tEine Katze.\u2028Ein Ball.\u0085 Ein Mann. \u2029\u00a0Ein Kind. *** "):
            for settings in (
                {"sample": 6, "n_best": 6},
                {"length_penalty": 1.0},
                {"length_penalty": 0.5, "word_penalty": 0.5, "count_end": True, "n_best": 3},
            ):
                kwargs = [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}") for name, value in settings.items()]
                objects = [json.dumps({"text": one}) for one in ("Ja.", text)]
                wanted = json.loads(command("-m", place, "--jsonl", "--split", "sentences", *kwargs, lines=objects)[1])
                found = [
                    self.model.decode(["Ja.", text], split="sentences", **settings)[1],
                    self.model.decode(["Ja.", rill.Request(text, **settings)], split="sentences")[1],
                ]
                for result in found:
                    self.assertEqual([output.text for output in result.outputs], [one["text"] for one in wanted["outputs"]])
                    for output, one in zip(result.outputs, wanted["outputs"]):
                        self.assertAlmostEqual(output.score, one["score"], places=6)
                        self.assertEqual((output.length, output.finish_reason), (one["length"], one["finish_reason"]))

    def test_a_trace_tells_of_sentences_and_changes_nothing(self) -> None:
        text = " ".join(CAPTIONS[:3])
        events: list[rill.TraceEvent] = []
        plain = self.model.decode([text], split="sentences")
        with self.model.stream([text], split="sentences", trace=events.append) as stream:
            self.assertEqual(list(stream), plain)
        self.assertEqual([event.item for event in events if event.kind == "admitted"], [0, 1, 2])

    def test_greek_asks_with_a_semicolon(self) -> None:
        apart = [result.text for result in self.model.decode(["Ein Hund bellt;", "Eine Katze schläft."])]
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(MODELS / "de-en", os.path.join(folder, "el-en"))
            with rill.Model(os.path.join(folder, "el-en")) as model:
                self.assertEqual(model.decode(["Ein Hund bellt; Eine Katze schläft."], split="sentences")[0].text, " ".join(apart))
        self.assertNotEqual(self.model.decode(["Ein Hund bellt; Eine Katze schläft."], split="sentences")[0].text, " ".join(apart))

    def test_soft_hyphens_are_not_read(self) -> None:
        plain = self.model.decode(["Die Straße ist naß."])[0].text
        for text in ("Die Stra\u00adße ist naß.", "Die Stra\u2060ße ist na\ufeffß.", "Die Stra\u200bße ist naß\u00ad."):
            self.assertEqual(self.model.decode([text])[0].text, plain)

    def test_spaces_of_all_kinds_part_words_and_marks_are_dropped(self) -> None:
        for name, text in (("gum", "The dog barks ."), ("geo", "what states border texas"), ("de-en", "Ein Hund läuft .")):
            with rill.Model(MODELS / name) as model, rill.Model(MODELS / name, workers=2) as several:
                plain = model.decode([text])[0].text
                spaces = "\t\v\f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000"
                texts = ["\ufeff" + text, "\ufeff\ufeff" + text, *(text.replace(" ", space) for space in spaces)]
                for which in (model, several):
                    self.assertEqual([result.text for result in which.decode(texts)], [plain] * len(texts))

    def test_an_interrupt_ends_a_long_decode(self) -> None:
        # If SIGINT was ignored when Python started, it has installed no handler.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            self.model.decode(itertools.islice(itertools.cycle(CAPTIONS), 10**6))
        self.assertLess(time.monotonic() - begin, 10)


if __name__ == "__main__":
    unittest.main()
