"""Writes files as torch.save does, without torch, for tests of the converters."""

from __future__ import annotations

import collections
import io
import pathlib
import pickle
import struct
import sys
import zipfile
from typing import Any, NamedTuple

import numpy as np

_NAMES: dict[Any, bytes] = {}


def named(module: str, name: str) -> type:
    """Make a class that is pickled as a class of a package that is not installed."""
    made = type(name, (), {"__module__": module})
    _NAMES[made] = f"{module}\n{name}\n".encode()
    return made


_REBUILD = named("torch._utils", "_rebuild_tensor_v2")
_STORAGES = {
    kind: named("torch", name + "Storage")
    for kind, name in {"f4": "Float", "f8": "Double", "f2": "Half", "u2": "BFloat16", "i8": "Long", "i4": "Int"}.items()
}


class Tensor(NamedTuple):
    """A view of an array's numbers; the file states that the storage has `count` of them."""

    array: np.ndarray[Any, Any]
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    count: int


class _Storage(NamedTuple):
    key: str
    array: np.ndarray[Any, Any]
    count: int


class _Pickler(pickle._Pickler):  # type: ignore[name-defined,misc]
    """A pickler that writes arrays as tensors: views of their base, if they have one. Numbers of dtype u2 become bfloat16."""

    def __init__(self, file: Any, has_views: bool) -> None:
        super().__init__(file, 2)
        self.storages: dict[int, _Storage] = {}
        self.end = (None,) if has_views else ()

    def persistent_id(self, value: Any) -> Any:
        if not isinstance(value, _Storage):
            return None
        return ("storage", _STORAGES[value.array.dtype.str[1:]], value.key, "cpu", value.count, *self.end)

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            base = value if value.base is None else value.base
            offset = (value.ctypes.data - base.ctypes.data) // value.itemsize
            value = Tensor(base, offset, value.shape, tuple(n // value.itemsize for n in value.strides), base.size)
        if not isinstance(value, Tensor):
            return NotImplemented
        storage = self.storages.setdefault(id(value.array), _Storage(str(len(self.storages)), value.array, value.count))
        return _REBUILD, (storage, value.offset, value.shape, value.stride, False, collections.OrderedDict())

    def save_global(self, value: Any, name: Any = None) -> None:
        if value in _NAMES:
            self.write(pickle.GLOBAL + _NAMES[value])
            self.memoize(value)
        else:
            super().save_global(value, name)

    dispatch = {**pickle._Pickler.dispatch, type: save_global}  # type: ignore[attr-defined]


def save(path: pathlib.Path, value: Any, zipped: bool = True, order: str = "little", packed: bool = False) -> None:
    """Write the value as torch.save does; not zipped: as it did before version 1.6. order: the byte order of arrays. packed: compress
    the zip, as other programs may.
    """
    data = io.BytesIO()
    pickler = _Pickler(data, not zipped)
    pickler.dump(value)
    storages = pickler.storages.values()
    if zipped:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
            archive.writestr("archive/data.pkl", data.getvalue())
            archive.writestr("archive/byteorder", order)
            for storage in storages:
                archive.writestr(f"archive/data/{storage.key}", storage.array.tobytes())
        return
    sizes = {"protocol_version": 1001, "little_endian": order == "little", "type_sizes": {"short": 2, "int": 4, "long": 4}}
    with open(path, "wb") as file:
        for part in (0x1950A86A20F9469CFC6C, 1001, sizes):
            pickle.dump(part, file, 2)
        file.write(data.getvalue())
        pickle.dump([storage.key for storage in storages], file, 2)
        for storage in storages:
            file.write(struct.pack("<q", storage.array.size) + storage.array.tobytes())


if sys.byteorder != "little":
    raise ImportError("the arrays of these tests are written in the order of a little-endian machine")
