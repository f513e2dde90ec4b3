"""File formats for the scripts of all domains: safetensors, and numbers in JSON for tests. Also the command line of converters from
one file to another.
"""

import io
import json
import math
import os
import struct
import sys
import zipfile

import numpy as np

from refusal import check_unpacked

KINDS = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}


def kind_of(array):
    """Return the type that keeps an array's numbers exactly or nearly: types other than F32 and F16 become F32."""
    return "F16" if array.dtype == np.float16 else "F32"


def write_safetensors(path, tensors, kind=None):
    """Write a header length, a JSON header padded with spaces to 8 bytes, and the arrays in order of their names. `kind`: the type of
    all arrays; None: each keeps its type. `path` is never half-written, since trainings save models now and then and may be
    interrupted.
    """
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    kinds = {name: kind or kind_of(tensors[name]) for name in sorted(tensors)}
    for name, own in kinds.items():
        size = tensors[name].size * KINDS[own].itemsize
        header[name] = {"dtype": own, "shape": list(tensors[name].shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".new", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name, own in kinds.items():
            out.write(np.ascontiguousarray(tensors[name], dtype=KINDS[own]).data)
    os.replace(path + ".new", path)


def read_safetensors(path, kind=np.float32):
    """Return all tensors by name, as 32-bit floats. With kind None each keeps its type, except bfloat16, which becomes 32-bit floats."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            if entry["dtype"] == "BF16":
                flat = (np.frombuffer(data[start:end], dtype="<u2").astype(np.uint32) << 16).view(np.float32)
            else:
                flat = np.frombuffer(data[start:end], dtype=KINDS[entry["dtype"]])
            tensors[name] = flat.astype(kind or flat.dtype).reshape(entry["shape"])
    return tensors


def read_member(archive, info):
    """Return the bytes of a zip's entry. ValueError if its stated size is more than deflate could have packed into it."""
    if info.file_size > 1032 * info.compress_size + 64:
        raise ValueError(f"{info.filename}: {info.file_size} bytes were announced, which {info.compress_size} packed ones cannot hold")
    return archive.read(info)


def read_npz(path, wanted=lambda name: True):
    """Return the wanted arrays of an .npz by name. ValueError if a shape has more numbers than its entry has bytes for."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        check_unpacked(path, sum(info.file_size for info in infos if wanted(info.filename.removesuffix(".npy"))))
        for info in infos:
            name = info.filename.removesuffix(".npy")
            if not wanted(name):
                continue
            data = io.BytesIO(read_member(archive, info))
            version = np.lib.format.read_magic(data)
            if version not in ((1, 0), (2, 0)):
                raise ValueError(f"{info.filename}: version {version} of .npy is not known")
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(data)
            if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize > info.file_size - data.tell():
                raise ValueError(f"{info.filename}: shape {list(shape)} has more numbers than its {info.file_size} bytes hold")
            data.seek(0)
            arrays[name] = np.lib.format.read_array(data, allow_pickle=False)
    return arrays


class Tokens:
    """A vocabulary; the id of a token is its line in the file, from 0."""

    def __init__(self, tokens):
        self.tokens = list(tokens)
        self.ids = {token: i for i, token in enumerate(self.tokens)}

    @classmethod
    def counted(cls, specials, counts, least=1):
        """Make a vocabulary from counts: frequent tokens first, ties by spelling, so that the same data give the same ids."""
        kept = [t for t, c in counts.items() if c >= least]
        kept.sort(key=lambda t: (-counts[t], t))
        return cls(list(specials) + kept)

    @classmethod
    def read(cls, path):
        with open(path, encoding="utf-8", newline="\n") as lines:
            return cls([line.rstrip("\n") for line in lines])

    def write(self, path):
        with open(path, "w", encoding="utf-8", newline="\n") as out:
            out.writelines(token + "\n" for token in self.tokens)

    def __len__(self):
        return len(self.tokens)


def rounded(value, digits):
    """Round the floats in a JSON value to this number of significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, list):
        return [rounded(v, digits) for v in value]
    if isinstance(value, dict):
        return {k: rounded(v, digits) for k, v in value.items()}
    return value


def run_converter(usage, convert):
    """Call convert(source, target) with the command line's two arguments; otherwise print the usage."""
    if "--help" in sys.argv or "-h" in sys.argv:
        print(usage)
    elif len(sys.argv) != 3:
        sys.exit(usage)
    else:
        convert(*sys.argv[1:])
