"""Small models of tests/data/mt, written as pickles of PyTorch and fairseq, are converted. Tensors, configurations, vocabularies and
outputs must be those of the originals. What cannot be converted is refused with its name. Needs only NumPy; PyTorch, if it is
installed, writes the same pickles.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import pickle
import shutil
import sys
import types
import unittest
import unittest.mock
from typing import Any

import numpy as np
import torch_writer
from conversion import DATA, Conversion, Tensors, read_json, tensors_of


# --- pytorch_model.bin ------------------------------------------------------------------------------------------------


class Evil:
    """An object whose unpickling would make a directory."""

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
        for name in ("shared", "separate", "odd", "ensemble", "fsmt", "fsmt-tied", "m2m", "t5"):
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
        view = np.ascontiguousarray(tensors[name].T).T  # a transposed view: rows of the tensor are columns in the file
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
        for name in ("m2m", "mbart", "bart", "pegasus", "t5", "t5-gated", "umt5"):
            folder, tensors = self.copied(name)
            table = next(key for key in tensors if key.endswith("shared.weight"))
            named = {table.replace("shared", side + ".embed_tokens"): tensors[table] for side in ("encoder", "decoder")}
            positions = {"model.encoder.embed_positions.weights": np.zeros((9, 4), np.float32)} if name == "m2m" else {}
            torch_writer.save(folder / "pytorch_model.bin", {**named, **tensors, **positions})
            found = tensors_of(self.made("bin", folder))
            self.assertEqual(len(found), len(tensors), name)
            (kept,) = (key for key in found if key not in tensors or key == table)
            self.same({**found, table: found[kept]}, {**tensors, kept: tensors[table]})
            self.decodes_as(self.out, DATA / name)

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

_NAMED = (("omegaconf.dictconfig", "DictConfig"), ("omegaconf.nodes", "AnyNode"), ("fairseq.meters", "AverageMeter"))
_MAP, _LEAF, _METER = (torch_writer.named(*name) for name in _NAMED)


def node(value: Any) -> Any:
    """Return a value as omegaconf's tree of nodes."""
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
        """Return the tensors by fairseq's names; `old`: by those of 2019 and before."""
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
        self.decodes_as(out, DATA / self.name)

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
        # A token with a space, and a token that another one overwrites; the id of the overwritten one gets a made-up name.
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
        self.refused("none.txt", "fairseq", self.path, "--codes", self.work / "none.txt")
        (self.folder / "bpecodes").unlink()
        self.refused("no bpecodes or code or codes or bpe.codes: give the file", "fairseq", self.path)
        shutil.rmtree(self.out)
        self.assertNotIn("merges.txt", os.listdir(self.made("fairseq", self.path, "--no-merges")))


# --- PyTorch's own pickles --------------------------------------------------------------------------------------------


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class ByTorch(Conversion):
    """torch.save writes the files that torch_writer writes in other tests."""

    def setUp(self) -> None:
        super().setUp()
        for name in ("omegaconf", "fairseq", *(module for module, _name in _NAMED)):
            sys.modules[name] = types.ModuleType(name)
            self.addCleanup(sys.modules.pop, name)
        for (module, name), made in zip(_NAMED, (_MAP, _LEAF, _METER)):
            setattr(sys.modules[module], name, made)
        patch = unittest.mock.patch.object(torch_writer, "save", self.save)
        patch.start()
        self.addCleanup(patch.stop)

    @staticmethod
    def save(path: pathlib.Path, value: Any, zipped: bool = True, order: str = "little") -> None:
        import torch

        known: dict[int, Any] = {}

        def tensor(array: np.ndarray[Any, Any]) -> Any:
            if array.dtype == np.uint16:
                return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
            return torch.from_numpy(array if order == "little" else array.astype("<f4"))

        def tensors(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: tensors(item) for key, item in value.items()}
            return known.setdefault(id(value), tensor(value)) if isinstance(value, np.ndarray) else value

        torch.save(tensors(value), path, _use_new_zipfile_serialization=zipped)


class BinByTorch(ByTorch, Bin):
    pass


class FairseqByTorch(ByTorch, Fairseq):
    pass


if __name__ == "__main__":
    unittest.main()
