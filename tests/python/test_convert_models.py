"""Small models of tests/data/mt, written as Nematus and Marian write them, are converted. Tensors, configurations, vocabularies and
outputs must be those of the originals. What cannot be converted is refused with its name. Needs only NumPy; transformers, if it is
installed, decodes with the converted models.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import random
import re
import shutil
import unittest
from typing import Any

import numpy as np
import rill
from conversion import DATA, Conversion, Tensors, read_json, tensors_of
from rill.compat.transformers import generate

import reference_mt_marian
from marian_model import binary_items, marian_arrays, marian_options, quantised, save_binary, save_marian, save_vocabulary


# --- Nematus ----------------------------------------------------------------------------------------------------------


class Nematus(Conversion):
    def write(self, tensors: Tensors, name: str = "rnn", **options: Any) -> pathlib.Path:
        """Write model.npz with records of the training, its options, and dictionaries that are longer than the embedding tables."""
        path, written = self.work / "model.npz", {"</s>": "eos", "<unk>": "UNK"}
        np.savez(path, **{"uidx": 7, "history_errs": [1.5], "adam_t": 3.0, **tensors})  # type: ignore[arg-type]
        for side, file in (("de", "vocab.json"), ("en", "target_vocab.json")):
            words = read_json(DATA, name, file if (DATA / name / file).exists() else "vocab.json")
            words = {**{written.get(word, word): number for word, number in words.items()}, "behind": len(words)}
            (self.work / f"{side}.json").write_text(json.dumps(words))
        said = {"dictionaries": ["corpus/de.json", "corpus/en.json"], "use_dropout": True, "model_version": 0.1, **options}
        (self.work / "model.npz.json").write_text(json.dumps(said))
        return path

    def test_each_kind_is_the_original(self) -> None:
        for name in ("rnn", "rnn-own", "rnn-simple", "rnn-simple-two"):
            with self.subTest(name=name):
                out = self.made("nematus", self.write(tensors_of(DATA / name), name))
                self.same(tensors_of(out), tensors_of(DATA / name))
                configs = [{**read_json(folder, "config.json"), "max_length": 0} for folder in (out, DATA / name)]
                self.assertEqual(*configs)
                vocabularies = [{path.name: read_json(path) for path in folder.glob("*vocab.json")} for folder in (out, DATA / name)]
                self.assertEqual(*vocabularies)
                self.decodes_as(out, DATA / name)
                shutil.rmtree(out)

    def test_one_table(self) -> None:
        tensors, vocabulary = tensors_of(DATA / "rnn"), self.work / "de.json"
        path = self.write({name: value for name, value in tensors.items() if name not in ("Wemb_dec", "decoder_c_tt")})
        vocabulary.write_text(json.dumps({word: number for word, number in read_json(vocabulary).items() if number != 5}))
        out = self.made("nematus", path, "--vocab", vocabulary)
        self.assertEqual(read_json(out, "vocab.json")["<row 5>"], 5)
        self.same(tensors_of(out), {**tensors, "Wemb_dec": tensors["Wemb"], "decoder_c_tt": np.zeros_like(tensors["decoder_c_tt"])})

    def test_refusals(self) -> None:
        command = ("nematus", self.work / "model.npz")
        self.refused("model.npz: not there", *command)
        tensors = tensors_of(DATA / "rnn")
        for key, value in (("factors", 2), ("output_hidden_activation", "relu"), ("softmax_mixture_size", 3),
                           ("model_type", "transformer"), ("model_version", 0)):  # fmt: skip
            self.write(tensors, **{key: value})
            self.refused(f"model.npz.json: {key}: ", *command)
        self.write(tensors, dictionaries=["de.json"])
        self.refused("dictionaries: expected two, found 1", *command)
        for name in ("encoder_U_drt_1", "decoder_W_comb_att_lnb", "Wemb1"):
            self.write({**tensors, name: np.zeros(3)})
            self.refused(f"model.npz: {name}: a rnnsearch model of these sizes has no such tensor", *command)
        self.write({name: value for name, value in tensors.items() if name != "ff_state_b"})
        self.refused("ff_state_b is missing", *command)
        self.write({**tensors, "decoder_Wc": tensors["decoder_Wc"][:-1]})
        self.refused("decoder_Wc: expected shape", *command)
        self.write(tensors)
        for words, said in (({"eos": 0, "UNK": 1, "a": 2, "b": 2}, "de.json: 2 is the number of 'a' and of 'b'"),
                            ({"a": 0, "UNK": 1}, "de.json: expected eos (or </s>) with number 0")):  # fmt: skip
            (self.work / "de.json").write_text(json.dumps(words))
            self.refused(said, *command)
        (self.work / "model.npz").write_bytes(b"no zip")
        self.refused("expected Nematus' model.npz", *command)


# --- Marian -----------------------------------------------------------------------------------------------------------


class Marian(Conversion):
    def setUp(self) -> None:
        super().setUp()
        self.folder = self.work / "marian"
        self.folder.mkdir()
        self.path, self.vocabulary = self.folder / "model.npz", self.folder / "vocab.yml"
        self.numbers: dict[str, int] = read_json(DATA, "shared", "vocab.json")
        self.pieces = [piece for piece in self.numbers if piece != "<pad>"]
        save_vocabulary(self.vocabulary, self.pieces)

    def same_config(self, out: pathlib.Path, name: str, **more: Any) -> None:
        """Compare config.json with that of tests/data/mt, whose lengths differ and which has no alignment layer."""
        found, expected = read_json(out, "config.json"), read_json(DATA, name, "config.json")
        depth = expected["decoder_layers"]
        self.assertEqual(found["rill"], {"positions": "marian", "alignment_layer": depth - 1, "alignment_heads": 1})
        for key in ("max_length", "max_position_embeddings"):
            self.assertEqual(found[key], 4096)
        for config in (found, expected):
            for key in ("rill", "max_length", "max_position_embeddings"):
                config.pop(key)
        self.assertEqual(found, {**expected, **more})

    def test_each_kind_of_decoder(self) -> None:
        for name, shape in reference_mt_marian.SHAPES.items():
            with self.subTest(name=name):
                options = {**reference_mt_marian.USUAL, **shape}
                arrays = reference_mt_marian.make_arrays(options, len(self.pieces), self.numbers["</s>"])
                save_marian(self.path, arrays, reference_mt_marian.written(options))
                out = self.made("marian", self.path, "--vocab", self.vocabulary)
                self.same(tensors_of(out), tensors_of(DATA / name))
                self.same_config(out, name)
                self.assertEqual(read_json(out, "vocab.json"), self.numbers)

    def with_tables(self, name: str) -> tuple[Tensors, dict[str, Any], list[list[str]], pathlib.Path]:
        """Write a model of tests/data/mt in Marian's form and convert it. Return its tensors, configuration and tokens, and the
        converted folder."""
        tensors, config = tensors_of(DATA / name), read_json(DATA, name, "config.json")
        config["decoder_attention_heads"] = config["encoder_attention_heads"]
        config["activation_function"] = "swish" if name == "shared" else "relu"
        save_marian(self.path, marian_arrays(tensors, config), marian_options(config))
        sides = [["</s>", "<unk>", *(f"{side}-{i}" for i in range(config[key] - 4))] for side, key in
                 (("s", "vocab_size"), ("t", "decoder_vocab_size"))]  # fmt: skip
        for path in (*self.folder.glob("*.yml"), *self.folder.glob("*.spm")):
            path.unlink()
        for file in ("source.spm", "target.spm") if name == "shared" else ():
            (self.folder / file).write_text(file)
        if name == "separate":
            for side, tokens in zip(("src", "trg"), sides):
                save_vocabulary(self.folder / f"opus.{side}.vocab.yml", tokens)
            return tensors, config, sides, self.made("marian", self.folder)
        save_vocabulary(self.vocabulary, sides[0])
        return tensors, config, sides, self.made(self.folder, "--positions", "hf")

    def test_one_table_and_several(self) -> None:
        for name in ("shared", "separate"):
            tensors, config, sides, out = self.with_tables(name)
            found, rows = tensors_of(out), {key: value.copy() for key, value in tensors.items() if "embed_positions" not in key}
            for key in rows:
                if key in ("model.shared.weight", "lm_head.weight", "final_logits_bias") or "embed_tokens" in key:
                    (rows[key].T if key == "final_logits_bias" else rows[key])[-1] = 0  # Marian has no <pad>
            self.same(found, rows)
            made = read_json(out, "config.json")
            self.assertEqual(made["rill"]["positions"], "hf" if name == "shared" else "marian")
            for key in ("d_model", "vocab_size", "decoder_vocab_size", "share_encoder_decoder_embeddings", "tie_word_embeddings",
                        "encoder_layers", "decoder_layers", "encoder_ffn_dim", "decoder_ffn_dim", "activation_function",
                        "encoder_attention_heads", "decoder_attention_heads"):  # fmt: skip
                self.assertEqual(made[key], config[key], key)
            self.assertEqual([made[key] for key in ("pad_token_id", "eos_token_id")], [config["decoder_vocab_size"] - 1, 0])
            for file, side, key in (("vocab.json", sides[0], "vocab_size"), ("target_vocab.json", sides[1], "decoder_vocab_size")):
                if file == "vocab.json" or name == "separate":
                    whole = [*side, f"<unused{config[key] - 2}>", "<pad>"]
                    self.assertEqual(read_json(out, file), {piece: number for number, piece in enumerate(whole)})
            self.assertEqual((out / "target_vocab.json").exists(), name == "separate")
            models = {file: file for file in ("source.spm", "target.spm") if name == "shared"}
            self.assertEqual({path.name: path.read_text() for path in out.glob("*.spm")}, models)
            shutil.rmtree(out)

    @unittest.skipUnless(importlib.util.find_spec("transformers") and importlib.util.find_spec("torch"), "transformers is not installed")
    def test_the_lists_are_those_of_transformers(self) -> None:
        import torch
        import transformers

        random_ids, options = random.Random(1), {"num_beams": 5, "num_return_sequences": 5, "max_length": 21, "length_penalty": 0.0}
        for name in ("shared", "separate", "odd"):
            *_, (source, _target), out = self.with_tables(name)
            theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(out, dtype=torch.float64).eval()
            if name == "separate":  # give it the positions that Marian computes
                half = theirs.config.d_model // 2
                angle = np.arange(theirs.config.max_position_embeddings)[:, None] * 1e4 ** (-np.arange(half) / (half - 1))
                for side in (theirs.model.encoder, theirs.model.decoder):
                    side.embed_positions.weight.data.copy_(torch.from_numpy(np.concatenate([np.sin(angle), np.cos(angle)], axis=1)))
            inputs = [[random_ids.randrange(2, len(source)) for _ in range(n)] for n in (3, 9)]
            with rill.Model(out, tokenized=True) as mine:
                found = generate(mine, [" ".join(source[i] for i in ids) for ids in inputs], **options)  # type: ignore[arg-type]
            shown = {"output_scores": True, "return_dict_in_generate": True}
            real = [theirs.generate(torch.tensor([[*ids, 0]]), **options, **shown) for ids in inputs]
            sequences = [[id for id in ids[1:] if id != theirs.config.pad_token_id] for one in real for ids in one.sequences.tolist()]
            scores = [score for one in real for score in one.sequences_scores.tolist()]
            with self.subTest(name=name):
                self.assertEqual(found.sequences, sequences)
                np.testing.assert_allclose(found.sequences_scores, scores, rtol=1e-4)
            shutil.rmtree(out)

    def test_a_model_in_8_bits(self) -> None:
        """Weights as marian-conv --gemm-type intgemm8 stores them."""
        options = {**reference_mt_marian.USUAL, **reference_mt_marian.SHAPES["ssru"], "transformer-dim-ffn": 32}
        arrays = reference_mt_marian.make_arrays(options, len(self.pieces), 0)
        matrices = [name for name in arrays if name == "Wemb" or re.search("_W.?$", name)]
        stored = binary_items(arrays, reference_mt_marian.written(options), matrices)
        units = {name: quantised(arrays[name]) for name in matrices}
        values = {**arrays, **{name: whole.astype(np.float32) / unit for name, (unit, whole) in units.items()}}
        path = self.folder / "ssru.bin"
        save_binary(path, stored)
        found = tensors_of(self.made("marian", path, "--vocab", self.vocabulary))
        save_marian(self.path, values, reference_mt_marian.written(options))
        shutil.rmtree(self.out)
        self.same(found, tensors_of(self.made("marian", self.path, "--vocab", self.vocabulary)))
        name, command = "encoder_l1_self_Wq", ("marian", path, "--vocab", self.vocabulary)
        _kind, data, shape = stored[name]
        for item, words in (
            ((0x5101, data, shape), f"{name}: numbers of type 0x5101 cannot be converted"),
            ((0x4101, data[:-4] + bytes(4), shape), f"{name}: expected a multiplier above 0"),
            ((0x4101, data, (15, 16)), f"{name}: expected rows and columns that 16 divides"),
            ((0x404, data[:100], shape), f"{name}: 256 bytes, too few"),
        ):
            save_binary(path, {**stored, name: item})
            self.refused(words, *command)
        save_binary(path, stored)
        os.truncate(path, path.stat().st_size - 300)
        self.refused("not a whole .bin model of Marian", *command)
        path.write_bytes(b"no model of Marian")
        self.refused("expected version 1 of Marian's .bin models", *command)

    def test_refusals(self) -> None:
        options = {**reference_mt_marian.USUAL, **reference_mt_marian.SHAPES["marian-pre"], **reference_mt_marian.POST}
        arrays, options = reference_mt_marian.make_arrays(options, len(self.pieces), 0), reference_mt_marian.written(options)
        command = ("marian", self.folder)
        post = {"transformer-preprocess": "n", "transformer-postprocess": "da"}
        for key, value in (
            ("type", "s2s"), ("transformer-preprocess", "n"), ("transformer-preprocess", "r"), ("transformer-postprocess", "da"),
            ("transformer-postprocess-emb", "r"), ("transformer-postprocess-top", "a"), ("transformer-ffn-depth", 3),
            ("transformer-decoder-autoreg", "gru"), ("transformer-no-projection", "true"),
            ("transformer-guided-alignment-layer", 99), ("transformer-tied-layers", [1]), ("transformer-tied-layers", [1, 0]),
            ("transformer-train-position-embeddings", "true"), ("right-left", "true"), ("layer-normalization", "true"),
            ("lemma-dim-emb", 64), ("transformer-ffn-activation", "gelu"), ("transformer-ffn-activation", "tanh"),
        ):  # fmt: skip
            save_marian(self.path, arrays, {**options, key: value})
            self.refused(f"special:model.yml: {key}: ", *command)
        average = {"transformer-decoder-autoreg": "average-attention"}
        for more, words in (
            ({"transformer-decoder-autoreg": "rnn"}, "special:model.yml: dec-cell: only 'ssru' can be converted, found ''"),
            ({**average, "transformer-aan-depth": 3}, "transformer-aan-depth: only 1 and 2 can be converted, found 3"),
            ({**average, "transformer-aan-activation": "gelu"}, "transformer-aan-activation: only swish and relu"),
            ({**post, "version": "v1.9.9"}, "version: 'v1.9.9': before version 1.10 Marian"),
            ({**post, "version": "v1.10.0"}, "encoder_l1_self_Wo_ln_scale_pre is missing"),
            ({**post, "version": "v2.0.0"}, "encoder_l1_self_Wo_ln_scale_pre is missing"),
            ({"transformer-postprocess-emb": "n"}, "encoder_emb_ln_scale_pre is missing"),
            ({"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}, "decoder_l1_rnn_W is missing"),
            (average, "decoder_l1_aan_W1 is missing"),
        ):
            save_marian(self.path, arrays, {**options, **more})
            self.refused(words, *command)
        save_marian(self.path, arrays, {key: value for key, value in options.items() if key != "dec-depth"})
        self.refused("special:model.yml: dec-depth is missing", *command)
        save_marian(self.path, arrays, {})
        self.refused("special:model.yml is missing: not a model of Marian", *command)
        for name, value, words in (
            ("Wpos", np.zeros((4, 16), np.float32), "Wpos: nothing that a model with these options has"),
            ("encoder_l1_ffn_W1", np.zeros((12, 24), np.int8), "encoder_l1_ffn_W1: expected floating-point numbers, found int8"),
            ("encoder_l1_ffn_W1", np.zeros((1, 12, 24), np.float32), "encoder_l1_ffn_W1: expected a matrix, found shape [1, 12, 24]"),
            ("encoder_l1_ffn_W1", np.zeros((12, 23), np.float32), "layers.0.fc1.weight: expected shape [24, 12], found [23, 12]"),
        ):
            save_marian(self.path, {**arrays, name: value}, options)
            self.refused(words, *command)
        save_marian(self.path, {name: value for name, value in arrays.items() if name != "decoder_l2_context_Wk"}, options)
        self.refused("decoder_l2_context_Wk is missing", *command)
        save_marian(self.path, arrays, options)
        for pieces, words in (
            (self.pieces + ["<pad>"], "vocab.yml: has a <pad>"),
            (self.pieces + ["one", "more"], f"vocab.yml: {len(self.pieces) + 2} pieces, but the model has embeddings for"),
            (self.pieces[1:], "vocab.yml: expected a piece </s>"),
        ):
            save_vocabulary(self.vocabulary, pieces)
            self.refused(words, *command)
        for text, words in (
            ("</s>: 0\n<unk> 1\n", "vocab.yml:2: expected PIECE: NUMBER, found '<unk> 1'"),
            ("</s>: 0\n<unk>: 2\n", "expected the numbers 0 to 1, each once, for its 2 pieces"),
            ('</s>: 0\n<unk>: 1\n"\\q": 2\n', "vocab.yml:3: \\q is no escape of YAML"),
        ):
            self.vocabulary.write_text(text)
            self.refused(words, *command)
        self.path.write_bytes(b"no archive")
        self.refused("model.npz: not an .npz of arrays", *command)
        self.vocabulary.unlink()
        self.refused("no *vocab.yml, nor *.src.vocab.yml and *.trg.vocab.yml", *command)
        self.path.unlink()
        self.refused("no .npz in it, nor a .bin", *command)
        self.refused("model.npz: not there: expected Marian's model.npz", "marian", self.path)

    def test_vocabularies_in_yaml(self) -> None:
        """Vocabularies with quotes, escapes, keys on a line of their own, and comments."""
        options = {**reference_mt_marian.USUAL, **reference_mt_marian.SHAPES["marian-pre"]}
        arrays = reference_mt_marian.make_arrays(options, 14, 0)
        save_marian(self.path, arrays, reference_mt_marian.written(options))
        lines = ["---", "# a comment", "</s>: 0", "'<unk>': 1", r'"\"\u00e4\x41\U0001f600\t\\": 2', "'it''s': 3", "a: b: 4", "#: 5"]
        lines += ["? long key", ": 6", "\": 7", "': 8", '"": 9', "'': 10\r", "", "..."]
        self.vocabulary.write_text("\n".join(lines) + "\n", encoding="utf-8")
        pieces = ["</s>", "<unk>", '"äA\U0001f600\t\\', "it's", "a: b", "#", "long key", '"', "'", ""]
        found = self.convert("marian", self.path)
        self.assertIn("expected the numbers 0 to 9", found)  # the empty token has two ids
        self.vocabulary.write_text("\n".join(line for line in lines if line != "'': 10\r") + "\n", encoding="utf-8")
        side = read_json(self.made("marian", self.path, "--vocab", self.vocabulary), "vocab.json")
        expected = [*pieces, *(f"<unused{i}>" for i in range(10, 14)), "<pad>"]
        self.assertEqual(side, {piece: number for number, piece in enumerate(expected)})


if __name__ == "__main__":
    unittest.main()
