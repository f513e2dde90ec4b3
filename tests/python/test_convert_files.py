"""Sizes stated in the files that converters read: refused before memory of that size is allocated."""

from __future__ import annotations

import io
import pathlib
import pickle
import struct
import sys
import tempfile
import unittest
import zipfile
from typing import Any

import numpy as np
from common import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import convert_nematus  # noqa: E402
import marian_binary  # noqa: E402
import model_files  # noqa: E402
import torch_files  # noqa: E402
from convert_marian import Source  # noqa: E402


class _Global:
    """What is pickled as a function of torch's called with arguments."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments

    def __reduce__(self) -> Any:
        return _rebuild, self.arguments


def _rebuild(*arguments: Any) -> Any:
    return arguments


class _FloatStorage:
    pass


class _Storage:
    def __init__(self, count: int) -> None:
        self.count = count


class _Pickler(pickle._Pickler):  # type: ignore[name-defined,misc]
    """Writes data.pkl as torch.save does, without torch."""

    def persistent_id(self, value: Any) -> Any:
        return ("storage", _FloatStorage, "0", "cpu", value.count) if isinstance(value, _Storage) else None

    def save_global(self, value: Any, name: Any = None) -> None:
        names = {_rebuild: b"torch._utils\n_rebuild_tensor_v2\n", _FloatStorage: b"torch\nFloatStorage\n"}
        if value in names:
            self.write(pickle.GLOBAL + names[value])
            self.memoize(value)
        else:
            super().save_global(value, name)

    dispatch = {**pickle._Pickler.dispatch, type: save_global, type(_rebuild): save_global}  # type: ignore[attr-defined]


def torch_file(path: pathlib.Path, shape: tuple[int, ...], stride: tuple[int, ...], count: int, numbers: int, packed: bool = False) -> None:
    data = io.BytesIO()
    _Pickler(data, 2).dump({"w": _Global(_Storage(count), 0, shape, stride, False, None)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", data.getvalue())
        archive.writestr("archive/data/0", np.arange(numbers, dtype="<f4").tobytes())


def npz(path: pathlib.Path, header: str, body: bytes) -> None:
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body)


class Sizes(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def read(self, *arguments: Any, **keywords: Any) -> Any:
        path = self.folder / "model.bin"
        torch_file(path, *arguments, **keywords)
        file = torch_files.TorchFile(str(path))
        return file.array(file.root["w"], "w")

    def test_torch(self) -> None:
        for packed in (False, True):
            self.assertEqual(self.read((2, 3), (3, 1), 6, 6, packed=packed).tolist(), [[0, 1, 2], [3, 4, 5]])
            self.assertEqual(self.read((3, 2), (1, 3), 6, 6, packed=packed).tolist(), [[0, 3], [1, 4], [2, 5]])
        for shape, stride, count in (
            ((50000, 50000), (0, 0), 1),
            ((50000, 50000), (0, 0), 50000**2),  # a storage whose stated size is larger than its bytes
            ((50000, 50000), (0, 1), 50000),
            ((2**40, 2**40), (0, 0), 4),
            ((3, 2), (1, 1), 4),
        ):
            with self.subTest(shape=shape, count=count), self.assertRaisesRegex(torch_files.Refused, "model.bin: w: "):
                self.read(shape, stride, count, 4)

    def test_a_zip_that_announces_more_than_it_holds(self) -> None:
        path = self.folder / "model.bin"
        torch_file(path, (4,), (1,), 4, 4, packed=True)
        data = bytearray(path.read_bytes())
        at = data.rindex(b"PK\1\2")  # of data/0 in the directory
        for size, message in ((2**20, "data/0: 1048576 bytes were announced"), (2**31, "unpacks to more than 16777216 bytes")):
            struct.pack_into("<I", data, at + 24, size)
            path.write_bytes(bytes(data))
            with self.subTest(size=size), self.assertRaisesRegex(torch_files.Refused, message):
                torch_files.TorchFile(str(path))

    def test_npz(self) -> None:
        path = self.folder / "model.npz"
        np.savez(path, a=np.arange(6, dtype=np.float32).reshape(2, 3), b=np.int64(4))
        found = model_files.read_npz(str(path))
        self.assertEqual({name: array.tolist() for name, array in found.items()}, {"a": [[0, 1, 2], [3, 4, 5]], "b": 4})
        np.savez_compressed(path, a=np.zeros(10**5, np.float32))
        self.assertEqual(model_files.read_npz(str(path))["a"].shape, (10**5,))
        for shape in ("(50000, 50000)", "(4294967296, 4294967296)", "(-2, -1)", "(3,)"):
            npz(path, "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", bytes(8))
            for read in (lambda: Source(str(path)), lambda: convert_nematus.read_arrays(str(path))):
                with self.subTest(shape=shape), self.assertRaisesRegex(torch_files.Refused, "more numbers than its"):
                    read()

    def test_marian_binary(self) -> None:
        path = self.folder / "model.bin"

        def write(shape: tuple[int, ...], data: bytes) -> None:
            header = struct.pack("<QQ", 1, 1) + struct.pack("<QQQQ", 2, 0x404, len(shape), len(data))
            path.write_bytes(header + b"w\0" + struct.pack(f"<{len(shape)}i", *shape) + struct.pack("<Q", 0) + data)

        write((1, 2), np.float32([1, 2]).tobytes())
        self.assertEqual(marian_binary.read_binary(str(path))["w"].tolist(), [[1, 2]])
        # The product of the last is 2^64: 0 to numbers of 64 bits.
        for shape in ((2, 2), (50000, 50000), (-1, -2), (65536, 65536, 65536, 65536)):
            write(shape, np.float32([1, 2]).tobytes())
            with self.subTest(shape=shape), self.assertRaisesRegex(torch_files.Refused, "too few for shape"):
                marian_binary.read_binary(str(path))


if __name__ == "__main__":
    unittest.main()
