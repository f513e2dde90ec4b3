"""PyTorch's files (pytorch_model.bin, checkpoint.pt) read with numpy alone, and nothing in them executed.

A file of torch.save is a pickle that refers to storages of numbers: since 1.6 a zip of data.pkl and data/0, data/1, ...,
before that pickles and storages one behind the other. A pickle may call any function it can name. Here every name gives
one of a few functions written below or an Inert: a record of what it was called with, which does nothing.
Tensors stay where they are in the file until read() or array() asks for them: optimizers are never read.
"""

import collections
import math
import mmap
import os
import pickle
import struct
import zipfile

import numpy as np

from model_files import read_member
from refusal import Refused, check_unpacked

STORAGES = {  # of torch.FloatStorage and so on; the byte order is added when the file is known
    "FloatStorage": "f4", "DoubleStorage": "f8", "HalfStorage": "f2", "BFloat16Storage": "bf16", "LongStorage": "i8",
    "IntStorage": "i4", "ShortStorage": "i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?"}
LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_PICKLES = 3  # pickles before the object: a magic number, the protocol, and sizes of types on the machine that wrote the file


class Inert:
    """A replacement for an unknown class or function: its name, arguments and attributes."""

    def __init__(self, *arguments, **keywords):
        self.arguments, self.keywords, self.items = arguments, keywords, []

    def __setstate__(self, state):
        parts = state if isinstance(state, tuple) and len(state) == 2 else (state,)
        for part in parts:
            if isinstance(part, dict):
                self.__dict__.update({str(key): value for key, value in part.items()})

    def __call__(self, *arguments, **keywords):
        return Inert(*arguments, **keywords)

    def append(self, value):
        self.items.append(value)

    def extend(self, values):
        self.items.extend(values)

    def __setitem__(self, key, value):
        self.items.append((key, value))


class Name:
    """A class of torch of which only the name matters: the type of a storage or a tensor."""

    def __init__(self, name):
        self.name = name


Storage = collections.namedtuple("Storage", "key kind count begin")  # begin: the first element, if the storage is a view of another


class Tensor:
    """A tensor that has not been read: its storage, its first element there, and shape and strides in elements."""

    def __init__(self, storage, offset, shape, stride, *_unused):
        self.storage, self.offset = storage, offset
        self.shape, self.stride = tuple(shape), tuple(stride)

    def __setstate__(self, state):
        """Ignore the attributes of subclasses, which no model needs."""

    def place(self):
        """Return a key that is equal for tensors with the same memory and shape."""
        return self.storage.key, self.storage.begin + self.offset, self.shape, self.stride


class Table(dict):
    """A dictionary of any kind, without the metadata that a state dictionary may have (_metadata)."""

    def __init__(self, entries=(), *_unused):
        super().__init__(entries if isinstance(entries, list) else ())  # a defaultdict's first argument is a factory, not entries

    def __setstate__(self, state):
        pass


def rebuild_parameter(tensor, *_unused):
    return tensor


class Unpickler(pickle.Unpickler):
    KNOWN = {
        ("collections", "OrderedDict"): Table,
        ("collections", "defaultdict"): Table,
        ("torch._utils", "_rebuild_tensor"): Tensor,
        ("torch._utils", "_rebuild_tensor_v2"): Tensor,
        ("torch._utils", "_rebuild_parameter"): rebuild_parameter,
        ("torch._utils", "_rebuild_parameter_with_state"): rebuild_parameter,
        ("torch", "Size"): tuple,
        ("builtins", "set"): set,
        ("__builtin__", "set"): set,
    }

    def __init__(self, file, **keywords):
        super().__init__(file, **keywords)
        self.kinds = {}  # storage key -> element type: files without a zip do not state the width of elements

    def find_class(self, module, name):
        if (module, name) in self.KNOWN:
            return self.KNOWN[module, name]
        if module in ("torch", "torch.storage") and name in STORAGES:
            return Name(name)
        return type("Inert", (Inert,), {"pickled_name": f"{module}.{name}"})

    def persistent_load(self, entry):
        if not isinstance(entry, tuple) or len(entry) < 5 or entry[0] != "storage":
            raise pickle.UnpicklingError("a reference that is not one to a storage")
        kind = self.kinds[str(entry[2])] = STORAGES.get(getattr(entry[1], "name", ""), "")
        view = entry[5] if len(entry) > 5 else None
        return Storage(str(entry[2]), kind, int(entry[4]), int(view[1]) if view else 0)


def plain(value):
    """Return configurations of any origin as dictionaries, lists and values: Namespace, omegaconf's nodes, ordered dictionaries."""
    if isinstance(value, Inert):
        attributes = vars(value)
        for content in ("_content", "_val"):  # the members of omegaconf's containers and leaves
            if content in attributes:
                return plain(attributes[content])
        hidden = ("arguments", "keywords", "items")
        return {key: plain(item) for key, item in attributes.items() if key not in hidden}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


class TorchFile:
    """A file of torch.save. `root`: the saved object, with a Tensor for each tensor."""

    def __init__(self, path):
        self.path, self.storages, self.order = path, {}, "<"
        with open(path, "rb") as file:
            if os.path.getsize(path) == 0:
                raise Refused(f"{path}: an empty file")
            self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self.root = self._open_zip() if self.bytes[:4] == b"PK\3\4" else self._open_legacy()
        except Refused:
            raise
        except Exception as error:  # reading a damaged pickle may raise any exception
            raise Refused(f"{path}: not a file of torch.save, or damaged: {type(error).__name__}: {error}") from error

    def _open_zip(self):
        archive = zipfile.ZipFile(self.path)
        names = {info.filename: info for info in archive.infolist()}
        check_unpacked(self.path, sum(info.file_size for info in names.values()))
        main = [name for name in names if name.endswith("data.pkl")]
        if len(main) != 1:
            raise Refused(f"{self.path}: expected one data.pkl in this zip, found {len(main)}: TorchScript's files and "
                          "others that are no torch.save of a state dictionary cannot be converted")
        stem = main[0][:-len("data.pkl")]
        if stem + "constants.pkl" in names:
            raise Refused(f"{self.path}: a TorchScript program; expected what torch.save writes of a state dictionary")
        if stem + "byteorder" in names and archive.read(stem + "byteorder").strip() == b"big":
            self.order = ">"
        for name, info in names.items():
            if name.startswith(stem + "data/"):
                self.storages[name[len(stem) + 5:]] = self._member(archive, info)
        with archive.open(main[0]) as file:
            return Unpickler(file, encoding="utf-8").load()

    def _member(self, archive, info):
        if info.compress_type != zipfile.ZIP_STORED:
            return read_member(archive, info)
        names, extra = struct.unpack_from("<HH", self.bytes, info.header_offset + 26)
        begin = info.header_offset + 30 + names + extra
        return memoryview(self.bytes)[begin:begin + info.file_size]

    def _open_legacy(self):
        if self.bytes[257:262] == b"ustar":
            raise Refused(f"{self.path}: a tar of PyTorch before 0.2, or an archive: unpack it and name the files inside")
        reader = self.bytes
        reader.seek(0)
        if Unpickler(reader).load() != LEGACY_MAGIC:
            raise Refused(f"{self.path}: expected PyTorch's magic number at the beginning")
        machine = [Unpickler(reader).load() for _ in range(LEGACY_PICKLES - 1)][-1]
        self.order = "<" if plain(machine).get("little_endian", True) else ">"
        unpickler = Unpickler(reader, encoding="utf-8")
        root = unpickler.load()
        for key in Unpickler(reader).load():
            (count,) = struct.unpack("<q", reader.read(8))
            begin, size = reader.tell(), count * width_of(unpickler.kinds.get(str(key), ""))
            if count < 0 or begin + size > len(reader):
                raise Refused(f"{self.path}: storage {key} ends beyond the file: it is cut off")
            self.storages[str(key)] = memoryview(self.bytes)[begin:begin + size]
            reader.seek(begin + size)
        return root

    def array(self, tensor, name):
        """Return a Tensor's numbers as a contiguous array; bfloat16 becomes 32-bit floats."""
        if not isinstance(tensor, Tensor):
            found = getattr(tensor, "pickled_name", type(tensor).__name__)
            raise Refused(f"{self.path}: {name}: expected a tensor, found {found}")
        storage = tensor.storage
        width = width_of(storage.kind) if isinstance(storage, Storage) else 0
        if width == 0:
            raise Refused(f"{self.path}: {name}: a storage of numbers of an unknown type")
        memory = self.storages.get(storage.key)
        first = storage.begin + tensor.offset
        extents, stride = tensor.shape, tensor.stride
        if len(extents) != len(stride) or not all(isinstance(n, int) and n >= 0 for n in (*extents, *stride, first)):
            raise Refused(f"{self.path}: {name}: shape {extents} does not fit strides {stride}")
        # An expanded tensor (stride 0) repeats one number many times: its size is not bounded by the file's.
        if math.prod(extents) > storage.count:
            raise Refused(f"{self.path}: {name}: shape {list(extents)} has more numbers than its storage, which has {storage.count}")
        last = first + sum((n - 1) * s for n, s in zip(extents, stride)) if 0 not in extents else first - 1
        if memory is None or max(last + 1, math.prod(extents)) * width > len(memory):
            raise Refused(f"{self.path}: {name}: its numbers lie beyond the file's: it is cut off or damaged")
        kind = "u2" if storage.kind == "bf16" else storage.kind
        flat = np.frombuffer(memory, dtype=np.dtype(kind).newbyteorder(self.order), count=len(memory) // width)
        view = np.lib.stride_tricks.as_strided(flat[first:], extents, [s * width for s in stride], writeable=False)
        if storage.kind == "bf16":
            return (view.astype(np.uint32) << 16).view(np.float32)
        return view if view.flags.c_contiguous else view.copy()


def width_of(kind):
    """Return the bytes of an element; 0 for an unknown type."""
    if kind == "":
        return 0
    return 2 if kind == "bf16" else np.dtype(kind).itemsize
