"""Wrong sizes in the files that converters read are refused before memory of that size is allocated. Output folders are written
completely or not at all."""

from __future__ import annotations

import pathlib
import shutil
import struct
import sys
import tempfile
import unittest
import zipfile
from typing import Any

import numpy as np
import torch_writer
from common import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import convert_nematus  # noqa: E402
import marian_binary  # noqa: E402
import model_files  # noqa: E402
import refusal  # noqa: E402
import torch_files  # noqa: E402
from convert_marian import Source  # noqa: E402
from marian_model import save_binary  # noqa: E402


def npz(path: pathlib.Path, header: str, body: bytes) -> None:
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body)


class WrittenWhole(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name, "out")

    def write(self, names: list[str], error: BaseException | None = None) -> None:
        with refusal.written_whole(str(self.out)) as folder:
            for name in names:
                pathlib.Path(folder, name).write_text("new")
            if error is not None:
                raise error

    def test_a_new_folder_is_removed_after_a_failure(self) -> None:
        for error in (refusal.Refused("no"), KeyboardInterrupt(), OSError(28, "full")):
            with self.assertRaises(type(error)):
                self.write(["a"], error)
            self.assertFalse(self.out.exists())

    def test_an_old_folder_is_as_before(self) -> None:
        (self.out / "b").mkdir(parents=True)
        (self.out / "a").write_text("old")
        with self.assertRaises(IsADirectoryError) as caught:
            self.write(["a", "b"])
        self.assertEqual(caught.exception.filename, str(self.out / "b"))
        self.assertEqual((sorted(path.name for path in self.out.iterdir()), (self.out / "a").read_text()), (["a", "b"], "old"))

    def test_messages(self) -> None:
        with self.assertRaisesRegex(OSError, "full.*out"):
            self.write([], OSError(28, "full"))
        with self.assertRaisesRegex(OSError, "no regular file"):
            self.write([], shutil.SpecialFileError("no regular file"))
        with self.assertRaisesRegex(OSError, "input"):
            self.write([], OSError(13, "denied", "input"))


class Sizes(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, shape: tuple[int, ...], stride: tuple[int, ...], count: int, numbers: int, packed: bool = False) -> pathlib.Path:
        """Write a view of a storage of `numbers` numbers; the file states `count` of them."""
        tensor = torch_writer.Tensor(np.arange(numbers, dtype=np.float32), 0, shape, stride, count)
        torch_writer.save(self.folder / "model.bin", {"w": tensor}, packed=packed)
        return self.folder / "model.bin"

    def read(self, *arguments: Any, **keywords: Any) -> Any:
        file = torch_files.TorchFile(str(self.write(*arguments, **keywords)))
        return file.array(file.root["w"], "w")

    def test_torch(self) -> None:
        for packed in (False, True):
            self.assertEqual(self.read((2, 3), (3, 1), 6, 6, packed=packed).tolist(), [[0, 1, 2], [3, 4, 5]])
            self.assertEqual(self.read((3, 2), (1, 3), 6, 6, packed=packed).tolist(), [[0, 3], [1, 4], [2, 5]])
        for shape, stride, count in (
            ((50000, 50000), (0, 0), 1),
            ((50000, 50000), (0, 0), 50000**2),  # the stated size of the storage is larger than its bytes
            ((50000, 50000), (0, 1), 50000),
            ((2**40, 2**40), (0, 0), 4),
            ((3, 2), (1, 1), 4),
        ):
            with self.subTest(shape=shape, count=count), self.assertRaisesRegex(torch_files.Refused, "model.bin: w: "):
                self.read(shape, stride, count, 4)

    def test_a_zip_that_announces_more_than_it_holds(self) -> None:
        path = self.write((4,), (1,), 4, 4, packed=True)
        data = bytearray(path.read_bytes())
        at = data.rindex(b"PK\1\2")  # the entry of data/0 in the zip's directory
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
            save_binary(path, {"w": (0x404, data, shape)}, align=1)

        write((1, 2), np.float32([1, 2]).tobytes())
        self.assertEqual(marian_binary.read_binary(str(path))["w"].tolist(), [[1, 2]])
        # The product of the last shape is 2^64, which is 0 in 64 bits.
        for shape in ((2, 2), (50000, 50000), (-1, -2), (65536, 65536, 65536, 65536)):
            write(shape, np.float32([1, 2]).tobytes())
            with self.subTest(shape=shape), self.assertRaisesRegex(torch_files.Refused, "too few for shape"):
                marian_binary.read_binary(str(path))


if __name__ == "__main__":
    unittest.main()
