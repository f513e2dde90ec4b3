"""Small models of tests/data/mt in the forms of other toolkits, converted: the tensors, configurations and vocabularies are those of
the originals, and what cannot be converted is refused by name. Needs NumPy alone; tools/check_convert.py compares outputs too.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

import numpy as np
import torch_writer
from common import COMMAND, ROOT

sys.path.insert(0, str(ROOT / "tools"))
import convert_mt  # noqa: E402
import reference_mt_marian  # noqa: E402
from marian_model import marian_arrays, marian_options, save_marian, yaml_of  # noqa: E402
from model_files import read_safetensors  # noqa: E402

DATA = ROOT / "tests" / "data" / "mt"
Tensors = dict[str, Any]


def read_json(*path: str | pathlib.Path) -> Any:
    return json.loads(pathlib.Path(*path).read_text(encoding="utf-8"))


def tensors_of(folder: pathlib.Path) -> Tensors:
    return read_safetensors(str(folder / "model.safetensors"), None)


class Conversion(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.out = self.work / "out"

    def convert(self, *arguments: Any) -> str:
        """What is printed, and the messages of a failure."""
        printed, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            code = convert_mt.main([str(a) for a in (*arguments, "--out", self.out)])
        self.assertEqual(code, 1 if said.getvalue() else 0, said.getvalue())
        return said.getvalue() or printed.getvalue()

    def made(self, *arguments: Any) -> pathlib.Path:
        self.assertEqual(self.convert(*arguments), f"{self.out}\n")
        return self.out

    def refused(self, words: str, *arguments: Any) -> None:
        with self.subTest(words=words):
            said = self.convert(*arguments)
            self.assertTrue(said.startswith("convert_mt: ") and words in said, said)

    def same(self, ours: Tensors, theirs: Tensors) -> None:
        self.assertEqual(sorted(ours), sorted(theirs))
        for name, value in theirs.items():
            self.assertEqual((ours[name].dtype, ours[name].shape), (value.dtype, value.shape), name)
            self.assertTrue(np.array_equal(ours[name], value), name)


# --- pytorch_model.bin ------------------------------------------------------------------------------------------------


class Evil:
    """Contents of a hostile pickle."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


class Bin(Conversion):
    def copied(self, name: str) -> tuple[pathlib.Path, Tensors]:
        folder = self.work / "bin"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(DATA / name, folder)
        (folder / "model.safetensors").unlink()
        return folder, tensors_of(DATA / name)

    def test_the_tensors_are_the_originals(self) -> None:
        for name in ("shared", "separate", "fsmt", "fsmt-tied", "m2m", "t5"):
            for zipped in (True, False):
                with self.subTest(name=name, zipped=zipped):
                    folder, tensors = self.copied(name)
                    torch_writer.save(folder / "pytorch_model.bin", tensors, zipped)
                    out = self.made("bin", folder)
                    self.same(tensors_of(out), tensors)
                    self.assertEqual(read_json(out, "config.json"), read_json(folder, "config.json"))
                    for path in out.iterdir():
                        if path.name not in ("config.json", "model.safetensors"):
                            self.assertEqual(path.read_bytes(), (folder / path.name).read_bytes(), path.name)
                    needed = {"vocab.json", "vocab-src.json", "merges.txt", "source.spm", "sentencepiece.bpe.model", "spiece.model"}
                    self.assertEqual(needed & set(os.listdir(out)), needed & set(os.listdir(folder)))
                    shutil.rmtree(out)

    def test_aliases_views_and_orders_of_bytes(self) -> None:
        folder, tensors = self.copied("shared")
        path, name = folder / "pytorch_model.bin", "model.encoder.layers.0.fc1.weight"
        twice = {"lm_head.weight": tensors["model.shared.weight"], "model.encoder.embed_tokens.weight": tensors["model.shared.weight"]}
        view = np.ascontiguousarray(tensors[name].T).T  # rows are columns of what is stored
        wide = np.concatenate([tensors["final_logits_bias"], np.ones((2, 51), np.float32)])
        odd = {**tensors, **twice, name: view, "final_logits_bias": wide[:1], "model.decoder.layers.0.fc2.bias": wide[2, :16]}
        expected = {**tensors, "model.decoder.layers.0.fc2.bias": np.ones(16, np.float32)}
        for zipped in (True, False):
            torch_writer.save(path, {"state_dict": odd, "epoch": 3}, zipped)
            self.same(tensors_of(self.made("bin", folder)), expected)
            torch_writer.save(path, {key: np.ascontiguousarray(value, ">f4") for key, value in tensors.items()}, zipped, "big")
            self.same(tensors_of(self.made("bin", folder)), tensors)
        brief = {key: (np.ascontiguousarray(value).view(np.uint32) >> 16).astype(np.uint16) for key, value in tensors.items()}
        torch_writer.save(path, brief)
        self.same(tensors_of(self.made("bin", folder)), {key: (v.astype(np.uint32) << 16).view(np.float32) for key, v in brief.items()})
        torch_writer.save(path, {key: value.astype(np.float64) for key, value in tensors.items()})
        self.same(tensors_of(self.made("bin", folder)), tensors)
        self.same(tensors_of(self.made("bin", folder, "--type", "F16")), {key: v.astype(np.float16) for key, v in tensors.items()})

    def test_a_tied_table_of_a_family_is_stored_once(self) -> None:
        for name in ("m2m", "bart", "t5"):
            folder, tensors = self.copied(name)
            table = next(key for key in tensors if key.endswith("shared.weight"))
            named = {table.replace("shared", side + ".embed_tokens"): tensors[table] for side in ("encoder", "decoder")}
            positions = {"model.encoder.embed_positions.weights": np.zeros((9, 4), np.float32)} if name == "m2m" else {}
            torch_writer.save(folder / "pytorch_model.bin", {**named, **tensors, **positions})
            found = tensors_of(self.made("bin", folder))
            self.assertEqual(len(found), len(tensors), name)
            (kept,) = (key for key in found if key not in tensors or key == table)
            self.same({**found, table: found[kept]}, {**tensors, kept: tensors[table]})

    def test_several_files_with_an_index(self) -> None:
        folder, tensors = self.copied("shared")
        places = {name: f"pytorch_model-{i % 3 + 1:05}-of-00003.bin" for i, name in enumerate(sorted(tensors))}
        for place in set(places.values()):
            torch_writer.save(folder / place, {name: value for name, value in tensors.items() if places[name] == place})

        def index(weight_map: Any) -> None:
            (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map}))

        index(places)
        self.same(tensors_of(self.made(folder)), tensors)
        first, last = sorted(set(places.values()))[::2]
        name = next(name for name in places if places[name] == first)
        for weight_map, words in (
            ({**places, name: last}, f"{first}: {name} has no place there by weight_map"),
            ({**places, "of.no.file": first}, f"{first}: of.no.file is missing, which should be there"),
            ({**places, "of.no.file": "absent.bin"}, "absent.bin, which is not there"),
            ({**places, "of.no.file": "../absent.bin"}, "weight_map: expected an object of tensor: file"),
            ({**places, "of.no.file": ""}, "weight_map: expected an object of tensor: file"),
            ({**places, "of.no.file": 3}, "weight_map: expected an object of tensor: file"),
            ([], "weight_map: expected an object of tensor: file"),
        ):
            index(weight_map)
            self.refused(words, "bin", folder)

    def test_refusals(self) -> None:
        folder, tensors = self.copied("shared")
        path, trap = folder / "pytorch_model.bin", self.work / "trap"
        without = {name: value for name, value in tensors.items() if "layers.1.fc2.bias" not in name}
        for value, words in (
            ({**tensors, "final_logits_bias": Evil(trap)}, "final_logits_bias: expected a tensor, found posix.mkdir"),
            ({**tensors, "final_logits_bias": 3}, "final_logits_bias: expected a tensor, found int"),
            (without, "model.encoder.layers.1.fc2.bias is missing, expected with shape [16]"),
            ({**tensors, "model.encoder.layers.2.fc2.bias": np.zeros(16, np.float32)}, "layers.2.fc2.bias: a marian model of these sizes"),
            ({**tensors, "final_logits_bias": np.full((1, 51), np.nan, np.float32)}, "values that are infinite or no numbers"),
            ({**tensors, "final_logits_bias": np.zeros((1, 50), np.float32)}, "expected shape [1, 51], found [1, 50]"),
            ({"a": 1}, "expected tensors by name, found dict"),
            ([], "expected tensors by name, found list"),
        ):
            torch_writer.save(path, value)
            self.refused(words, "bin", folder)
        self.assertFalse(trap.exists())
        for zipped in (True, False):
            torch_writer.save(path, tensors, zipped)
            os.truncate(path, path.stat().st_size - 4000)
            self.refused(f"{path}: not a file of torch.save" if zipped else "ends beyond the file: it is cut off", "bin", folder)
        path.write_bytes(pickle.dumps({"a": 1}))
        self.refused("expected PyTorch's magic number at the beginning", "bin", folder)
        path.write_bytes(b"")
        self.refused("pytorch_model.bin: an empty file", "bin", folder)
        path.write_bytes(bytes(257) + b"ustar" + bytes(99))
        self.refused("a tar of PyTorch before 0.2", "bin", folder)
        path.unlink()
        self.refused("neither pytorch_model.bin nor pytorch_model.bin.index.json is there", "bin", folder)
        for text, words in (
            ("{}", "model_type: expected one of marian, fsmt, m2m_100, mbart, bart, pegasus, t5, mt5, umt5, found None"),
            ("[]", "config.json: expected a JSON object"),
            ("{", "config.json: not JSON"),
        ):
            (folder / "config.json").write_text(text)
            self.refused(words, "bin", folder)
        (folder / "config.json").unlink()
        self.refused("config.json: not there: expected a directory of Hugging Face's form", "bin", folder)


# --- fairseq ----------------------------------------------------------------------------------------------------------

_MAP, _LEAF, _METER = (
    torch_writer.named(*name)
    for name in (("omegaconf.dictconfig", "DictConfig"), ("omegaconf.nodes", "AnyNode"), ("fairseq.meters", "AverageMeter"))
)


def node(value: Any) -> Any:
    """omegaconf's tree of a value."""
    made = _MAP() if isinstance(value, dict) else _LEAF()
    if isinstance(value, dict):
        made.__dict__["_content"] = {key: node(item) for key, item in value.items()}
    else:
        made.__dict__["_val"] = value
    return made


class Fairseq(Conversion):
    def prepare(self, name: str) -> None:
        self.name, self.config, self.tensors = name, read_json(DATA, name, "config.json"), tensors_of(DATA / name)
        self.sides = [read_json(DATA, name, file) for file in ("vocab-src.json", "vocab-tgt.json")]
        self.folder = self.work / name
        self.folder.mkdir()
        for lang, side in zip(("de", "en"), self.sides):
            symbols = [piece[:-4] if piece.endswith("</w>") else piece + "@@" for piece in list(side)[4:]]
            (self.folder / f"dict.{lang}.txt").write_text("".join(symbol + " 7\n" for symbol in symbols), encoding="utf-8")
        (self.folder / "bpecodes").write_text("#version: 0.2\ne i 90\nei n</w> 50\nm a\n")
        self.path = self.folder / "model1.pt"

    def arguments(self, **more: Any) -> dict[str, Any]:
        config = self.config
        return {
            **{f"{side}_{part}": config[f"{side}_{part}"] for side in ("encoder", "decoder") for part in ("layers", "attention_heads")},
            **{f"{side}_ffn_embed_dim": config[f"{side}_ffn_dim"] for side in ("encoder", "decoder")},
            **{"arch": "transformer_wmt_en_de_big", "encoder_embed_dim": config["d_model"], "decoder_embed_dim": config["d_model"]},
            **{"share_all_embeddings": config["tie_word_embeddings"], "max_source_positions": 40, "max_target_positions": 50},
            **{"activation_fn": config["activation_function"], "source_lang": "de", "target_lang": "en", "dropout": 0.2},
            "encoder_normalize_before": False,
            **more,
        }

    def state(self, old: bool = False) -> Tensors:
        """fairseq's names: of today, or of 2019 and before."""
        state = {name[len("model.") :]: value for name, value in self.tensors.items()}
        for side, norms in (("encoder", ("self_attn", "final")), ("decoder", ("self_attn", "encoder_attn", "final"))):
            state[side + ".embed_positions._float_tensor"] = np.zeros(1, np.float32)
            state[side + ".version"] = np.float32([3])
            for layer in range(self.config[side + "_layers"] if old else 0):
                prefix = f"{side}.layers.{layer}."
                for number, name in enumerate(norms):
                    for part in ("weight", "bias"):
                        state[f"{prefix}layer_norms.{number}.{part}"] = state.pop(f"{prefix}{name}_layer_norm.{part}")
                        if name != "final":
                            parts = [state.pop(f"{prefix}{name}.{p}_proj.{part}") for p in "qkv"]
                            state[f"{prefix}{name}.in_proj_{part}"] = np.concatenate(parts)
        if old and "decoder.output_projection.weight" in state:
            state["decoder.embed_out"] = state.pop("decoder.output_projection.weight")
        return state

    def write(self, state: Tensors, arguments: dict[str, Any], form: str = "cfg") -> None:
        meter = _METER()
        meter.__dict__.update(value=3.0, best=np.float64(2.5))
        checkpoint: dict[str, Any] = {"args": None, "model": state, "extra_state": {"train_meters": {"loss": meter}}}
        checkpoint["last_optimizer_state"] = {"state": {0: np.zeros(100, np.float32)}}
        if form == "namespace":
            checkpoint["args"] = argparse.Namespace(**arguments)
        elif form == "cfg":
            checkpoint["cfg"] = {"model": argparse.Namespace(**arguments), "task": {"_name": "translation"}}
        else:
            checkpoint["cfg"] = node({"model": arguments, "task": {"_name": "translation"}})
        torch_writer.save(self.path, checkpoint, zipped=form != "namespace")

    def check(self, out: pathlib.Path) -> None:
        self.same(tensors_of(out), self.tensors)
        config = read_json(out, "config.json")
        self.assertEqual(config.pop("forced_eos_token_id"), 2)
        self.assertEqual(config, {key: self.config[key] for key in config})
        self.assertLessEqual({"model_type", "langs", "d_model", "encoder_layers", "decoder_layers", "src_vocab_size"}, config.keys())
        self.assertEqual([read_json(out, file) for file in ("vocab-src.json", "vocab-tgt.json")], self.sides)
        self.assertEqual((out / "merges.txt").read_text(), "e i\nei n</w>\nm a\n")
        self.assertEqual(
            read_json(out, "tokenizer_config.json"), {"langs": ["de", "en"], "model_max_length": 40, "do_lower_case": True}
        )

    def test_all_forms_are_the_original(self) -> None:
        for name in ("fsmt", "fsmt-tied"):
            self.prepare(name)
            for form in ("namespace", "cfg", "omegaconf"):
                with self.subTest(name=name, form=form):
                    self.write(self.state(form == "namespace"), self.arguments(), form)
                    self.check(self.made("fairseq", self.path))
                    shutil.rmtree(self.out)

    def test_the_architecture_has_one_of_two_names_or_none(self) -> None:
        self.prepare("fsmt")
        unnamed = {key: value for key, value in self.arguments().items() if key != "arch"}
        for more, form in (({"_name": "transformer_iwslt_de_en"}, "cfg"), ({}, "namespace")):
            self.write(self.state(form == "namespace"), {**unnamed, **more}, form)
            self.check(self.made("fairseq", self.path))
        self.write(self.state(), {**unnamed, "_name": "lightconv"})
        self.refused("arch: expected a transformer for translation, found lightconv", "fairseq", self.path)

    def test_an_ensemble(self) -> None:
        self.prepare("fsmt")
        self.write(self.state(), self.arguments())
        second = self.folder / "model2.pt"
        shutil.copy(self.path, second)
        self.assertEqual(self.convert("fairseq", self.path, second), f"{self.out}/model1\n{self.out}/model2\n")
        for name in ("model1", "model2"):
            self.check(self.out / name)
        self.refused("several models are called model1", "fairseq", self.path, self.path)

    def test_dictionaries(self) -> None:
        self.prepare("fsmt")
        path = self.folder / "dict.de.txt"
        lines = path.read_text().splitlines()
        self.write(self.state(), self.arguments())
        # A symbol with a space, and one that another overwrites, whose number keeps a name.
        path.write_text("\n".join(["a b 1", f"{lines[2].split()[0]} 1 #fairseq:overwrite", *lines[2:3]] + lines[3:]))
        self.refused(f"dict.de.txt:3: '{lines[2].split()[0]}' occurs twice", "fairseq", self.path)
        path.write_text("\n".join(["a b 1", lines[1], lines[2], f"{lines[1].split()[0]} 1 #fairseq:overwrite", *lines[4:]]))
        side = read_json(self.made("fairseq", self.path), "vocab-src.json")
        self.assertEqual((side["a b</w>"], side["<unused5>"], side[list(self.sides[0])[5]], len(side)), (4, 5, 7, 47))
        for text, words in (("a", "dict.de.txt:1: expected SYMBOL COUNT, found 'a'"), ("a x", ":1: expected SYMBOL COUNT, found 'a x'")):
            path.write_text(text)
            self.refused(words, "fairseq", self.path)
        path.write_text("a 1\nb</w>@@ 1\nb 1\n")
        self.refused("two symbols would be 'b</w>'", "fairseq", self.path)
        path.write_text("\n".join(lines + ["more 3"]))
        self.refused("dict.de.txt: 48 symbols with the 4 special ones, but", "fairseq", self.path)

    def test_refusals(self) -> None:
        self.prepare("fsmt")
        for key, value in (
            ("encoder_normalize_before", True), ("decoder_normalize_before", True), ("encoder_learned_pos", True),
            ("no_token_positional_embeddings", True), ("adaptive_softmax_cutoff", "4,5"), ("layernorm_embedding", True),
            ("no_cross_attention", True), ("base_layers", 1), ("decoder_embed_dim", 99), ("decoder_output_dim", 99),
            ("activation_fn", "gelu_accurate"), ("encoder_layers", None), ("arch", "lightconv"), ("arch", "transformer_lm_big"),
        ):  # fmt: skip
            self.write(self.state(), self.arguments(**{key: value}))
            self.refused(f"model1.pt: {key}: ", "fairseq", self.path)
        plain = self.arguments()
        self.write({**self.state(), "encoder.layer_norm.weight": np.zeros(15, np.float32)}, plain)
        self.refused("model.encoder.layer_norm.weight: a fsmt model of these sizes has no such tensor", "fairseq", self.path)
        self.write({name: value for name, value in self.state().items() if name != "decoder.layers.1.fc1.bias"}, plain)
        self.refused("model.decoder.layers.1.fc1.bias is missing", "fairseq", self.path)
        odd = {**self.state(True), "encoder.layers.0.self_attn.in_proj_bias": np.zeros(44, np.float32)}
        self.write(odd, plain)
        self.refused("in_proj_bias: expected queries, keys and values, found shape [44]", "fairseq", self.path)
        self.write(self.state(), {**plain, "source_lang": None})
        self.refused("source_lang, target_lang: not said: give --langs", "fairseq", self.path)
        self.made("fairseq", self.path, "--langs", "de", "en")
        self.write(self.state(), {}, "namespace")
        self.refused("neither \"args\" nor \"cfg\" says how the model is built", "fairseq", self.path)
        torch_writer.save(self.path, {"weights": 1})
        self.refused("expected a checkpoint of fairseq with tensors", "fairseq", self.path)
        self.write(self.state(), plain)
        self.refused("dict.fr.txt: not there: give the folder", "fairseq", self.path, "--langs", "fr", "en")
        codes = self.work / "codes.txt"
        for text, words in (("#version: 0.2\na b\nc\n", "codes.txt:3: expected a pair of pieces, found 'c'"),
                            ("a b c\n", "codes.txt:1: expected a pair"), ("a  3\n", "codes.txt:1: expected a pair")):  # fmt: skip
            codes.write_text(text)
            self.refused(words, "fairseq", self.path, "--codes", codes)
        (self.folder / "bpecodes").unlink()
        self.refused("no bpecodes or code or codes or bpe.codes: give the file", "fairseq", self.path)
        shutil.rmtree(self.out)
        self.assertNotIn("merges.txt", os.listdir(self.made("fairseq", self.path, "--no-merges")))


# --- Nematus ----------------------------------------------------------------------------------------------------------


class Nematus(unittest.TestCase):
    def test_the_tool_that_checks_it(self) -> None:
        command = [sys.executable, str(ROOT / "tools" / "check_nematus.py"), "--rill", COMMAND]
        run = subprocess.run(command, capture_output=True, encoding="utf-8")
        self.assertEqual((run.returncode, run.stdout.splitlines()[-1]), (0, "0 failures"), run.stdout + run.stderr)


# --- Marian -----------------------------------------------------------------------------------------------------------


def write_vocabulary(path: pathlib.Path, pieces: list[str]) -> None:
    """With each kind of YAML's quotes."""
    with open(path, "w", encoding="utf-8") as file:
        for number, piece in enumerate(pieces):
            quoted = piece if piece.isalpha() else json.dumps(piece, ensure_ascii=number % 2 == 0)
            if number % 5 == 0 and not piece.isalpha():
                quoted = "'" + piece.replace("'", "''") + "'"
            file.write(f"{quoted}: {number}\n")


class Marian(Conversion):
    def setUp(self) -> None:
        super().setUp()
        self.folder = self.work / "marian"
        self.folder.mkdir()
        self.path, self.vocabulary = self.folder / "model.npz", self.folder / "vocab.yml"
        self.numbers: dict[str, int] = read_json(DATA, "shared", "vocab.json")
        self.pieces = [piece for piece in self.numbers if piece != "<pad>"]
        write_vocabulary(self.vocabulary, self.pieces)

    def same_config(self, out: pathlib.Path, name: str, **more: Any) -> None:
        """The directories of tests/data/mt have other lengths, and no layer of alignments."""
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

    def test_one_table_and_several(self) -> None:
        for name, changes in (("shared", {}), ("separate", {"activation_function": "relu"})):
            tensors, config = tensors_of(DATA / name), {**read_json(DATA, name, "config.json"), **changes}
            config["decoder_attention_heads"] = config["encoder_attention_heads"]
            save_marian(self.path, marian_arrays(tensors, config), marian_options(config))
            sides = [["</s>", "<unk>", *(f"{side}-{i}" for i in range(config[key] - 4))] for side, key in
                     (("s", "vocab_size"), ("t", "decoder_vocab_size"))]  # fmt: skip
            self.vocabulary.unlink(missing_ok=True)
            models = ("source.spm", "target.spm") if name == "shared" else ()
            for file in ("source.spm", "target.spm"):
                (self.folder / file).unlink(missing_ok=True)
            for file in models:
                (self.folder / file).write_text(file)
            if name == "shared":
                write_vocabulary(self.vocabulary, sides[0])
            else:
                for side, tokens in zip(("src", "trg"), sides):
                    write_vocabulary(self.folder / f"opus.{side}.vocab.yml", tokens)
            out = self.made(self.folder, "--positions", "hf") if name == "shared" else self.made("marian", self.folder)
            found, rows = tensors_of(out), {key: value.copy() for key, value in tensors.items() if "embed_positions" not in key}
            for key in rows:
                if key in ("model.shared.weight", "lm_head.weight", "final_logits_bias") or "embed_tokens" in key:
                    (rows[key].T if key == "final_logits_bias" else rows[key])[-1] = 0  # <pad>, which Marian lacks
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
            self.assertEqual({path.name: path.read_text() for path in out.glob("*.spm")}, {file: file for file in models})
            shutil.rmtree(out)

    def test_a_model_in_8_bits(self) -> None:
        """As marian-conv --gemm-type intgemm8 stores it."""
        options = {**reference_mt_marian.USUAL, **reference_mt_marian.SHAPES["ssru"], "transformer-dim-ffn": 32}
        arrays = reference_mt_marian.make_arrays(options, len(self.pieces), 0)
        stored, values = {}, {}
        for name, array in arrays.items():
            if name != "Wemb" and name[-3:-1] != "_W" and name[-2:] != "_W":
                stored[name], values[name] = (0x404, array.tobytes(), array.shape), array
                continue
            unit = np.float32(127 / np.abs(array).max())
            whole = np.clip(np.rint(array * unit), -127, 127).astype(np.int8)
            laid = whole if name == "Wemb" else whole.T
            stored[name] = (0x4101, np.ascontiguousarray(laid).tobytes() + unit.tobytes(), array.shape)
            stored[name + "_QuantMultA"] = (0x404, np.float32(9).tobytes(), (1, 1))
            values[name] = whole.astype(np.float32) / unit
        text = yaml_of(reference_mt_marian.written(options)).encode() + b"\0"
        stored["special:model.yml"] = (0x101, text, (1, len(text)))
        path = self.folder / "ssru.bin"
        self.write_binary(path, stored)
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
            self.write_binary(path, {**stored, name: item})
            self.refused(words, *command)
        self.write_binary(path, stored)
        os.truncate(path, path.stat().st_size - 300)
        self.refused("not a whole .bin model of Marian", *command)
        path.write_bytes(b"no model of Marian")
        self.refused("expected version 1 of Marian's .bin models", *command)

    @staticmethod
    def write_binary(path: pathlib.Path, stored: dict[str, Any]) -> None:
        """Marian's form: headers, names, shapes, padding to 256 bytes, data of as many bytes as 256 divides."""
        items = [(name.encode() + b"\0", kind, shape, data + bytes(-len(data) % 256)) for name, (kind, data, shape) in stored.items()]
        head = np.uint64([1, len(items)]).tobytes()
        head += b"".join(np.uint64([len(name), kind, len(shape), len(data)]).tobytes() for name, kind, shape, data in items)
        head += b"".join(name for name, *_rest in items) + b"".join(np.int32(shape).tobytes() for _n, _k, shape, _d in items)
        gap = -(len(head) + 8) % 256
        path.write_bytes(head + np.uint64(gap).tobytes() + bytes(gap) + b"".join(data for *_rest, data in items))

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
            write_vocabulary(self.vocabulary, pieces)
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
        """Quotes, escapes, keys on a line of their own, comments."""
        options = {**reference_mt_marian.USUAL, **reference_mt_marian.SHAPES["marian-pre"]}
        arrays = reference_mt_marian.make_arrays(options, 14, 0)
        save_marian(self.path, arrays, reference_mt_marian.written(options))
        lines = ["---", "# a comment", "</s>: 0", "'<unk>': 1", r'"\"\u00e4\x41\U0001f600\t\\": 2', "'it''s': 3", "a: b: 4", "#: 5"]
        lines += ["? long key", ": 6", "\": 7", "': 8", '"": 9', "'': 10\r", "", "..."]
        self.vocabulary.write_text("\n".join(lines) + "\n", encoding="utf-8")
        pieces = ["</s>", "<unk>", '"äA\U0001f600\t\\', "it's", "a: b", "#", "long key", '"', "'", ""]
        found = self.convert("marian", self.path)
        self.assertIn("expected the numbers 0 to 9", found)  # the empty text has two numbers
        self.vocabulary.write_text("\n".join(line for line in lines if line != "'': 10\r") + "\n", encoding="utf-8")
        side = read_json(self.made("marian", self.path, "--vocab", self.vocabulary), "vocab.json")
        expected = [*pieces, *(f"<unused{i}>" for i in range(10, 14)), "<pad>"]
        self.assertEqual(side, {piece: number for number, piece in enumerate(expected)})


if __name__ == "__main__":
    unittest.main()
