"""Reads Marian's .bin models: arrays by name, with 8-bit matrices converted to fp32.

The format is that of browsermt/marian-dev, whose marian-conv makes the published student models: src/common/binary.cpp and
types.h, and expression_graph_packable.h for matrices. It is little-endian: a version; the number of items; for each item the
lengths of its name, shape and data and its type (8 bytes each); names; shapes; the length of the padding and the padding; data. An
8-bit matrix has a multiplier after its last element: an element is a number times the multiplier, rounded. Except for embeddings,
it is stored transposed, under its untransposed shape. Matrices packed for one kind of processor have another type, and are
refused.
"""

import math

import numpy as np

from refusal import Refused

VERSION = 1
PLAIN = {0x101: np.int8, 0x201: np.uint8, 0x402: np.float16, 0x404: np.float32, 0x408: np.float64}
INTGEMM8 = 0x4101
ROW_UNITS = "_QuantMultA"  # the factor for activations in 8-bit products, which is not needed here
# A transposed matrix is stored in blocks: BLOCK must divide its numbers of rows and columns.
BLOCK = 16


def dequantised(where, data, shape, straight):
    """Return an 8-bit matrix as fp32 numbers. `straight`: it is not stored transposed."""
    if len(shape) != 2 or min(shape) < 1:
        raise Refused(f"{where}: expected a matrix in 8 bits, found shape {list(shape)}")
    if not straight and (shape[0] % BLOCK or shape[1] % BLOCK):
        raise Refused(f"{where}: expected rows and columns that {BLOCK} divides, found shape {list(shape)}")
    size = shape[0] * shape[1]
    if len(data) < size + 4:
        raise Refused(f"{where}: {len(data)} bytes, too few for shape {list(shape)} in 8 bits and a multiplier")
    multiplier = np.frombuffer(data, "<f4", 1, size)[0]
    if not np.isfinite(multiplier) or multiplier <= 0:
        raise Refused(f"{where}: expected a multiplier above 0 behind the numbers, found {multiplier}")
    values = np.frombuffer(data, np.int8, size).astype(np.float32) / multiplier
    return values.reshape(shape) if straight else values.reshape(shape[::-1]).T


def read_item(path, name, kind, shape, data):
    where = f"{path}: {name}"
    if kind == INTGEMM8:
        return dequantised(where, data, shape, "Wemb" in name)
    if kind not in PLAIN:
        raise Refused(f"{where}: numbers of type {kind:#x} cannot be converted: only floating-point ones and intgemm8, which no "
                      "processor's packing has changed")
    dtype, size = np.dtype(PLAIN[kind]), math.prod(shape)
    if min(shape, default=0) < 0 or len(data) < size * dtype.itemsize:
        raise Refused(f"{where}: {len(data)} bytes, too few for shape {list(shape)}")
    return np.frombuffer(data, dtype, size).reshape(shape)


def read_binary(path):
    with open(path, "rb") as file:
        data, at = file.read(), 0

    def take(size):
        nonlocal at
        if size < 0 or size > len(data) - at:
            raise Refused(f"{path}: ends at byte {len(data)} within what it announces: not a whole .bin model of Marian")
        at += size
        return data[at - size:at]

    def numbers(count, dtype="<u8"):
        return [int(n) for n in np.frombuffer(take(count * np.dtype(dtype).itemsize), dtype)]

    version, count = numbers(2)
    if version != VERSION:
        raise Refused(f"{path}: expected version {VERSION} of Marian's .bin models, found {version}")
    headers = [numbers(4) for _ in range(min(count, len(data) // 32 + 1))]
    names = [take(header[0]).rstrip(b"\0").decode("utf-8", "replace") for header in headers]
    shapes = [tuple(numbers(header[2], "<i4")) for header in headers]
    take(numbers(1)[0])
    items = [(name, header[1], shape, take(header[3])) for name, header, shape in zip(names, headers, shapes)]
    return {item[0]: read_item(path, *item) for item in items if not item[0].endswith(ROW_UNITS)}
