# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations on images from Python, for comparisons with other libraries: arrays of NumPy go to the
device, and results come back. Images are windows in larger tensors, with other numbers around them."""
import ctypes
import os
from ctypes import POINTER, Structure, c_bool, c_double, c_float, c_int, c_int64, c_size_t, c_void_p

import numpy as np

import acuda_raw as acuda
from acuda_raw import _SITE, Site, _declare, _lib, _operand

HWC, CHW = 0, 1
PIXELS = {name: i for i, name in enumerate(
    "ANY GRAY RGB BGR RGBA BGRA NV12 NV21 P010 YUV420 YUV422 YUV444 YUYV UYVY".split())}
FILTERS = {name: i for i, name in enumerate("linear nearest cubic area lanczos lanczos4".split())}
HALF_PIXEL, ALIGN_CORNERS, TOP_LEFT = 0, 1, 2
DTYPES = {"uint8": 2, "uint16": 3, "float16": 10, "float32": 12}


class Options(Structure):
    _fields_ = [("size", c_size_t), ("layout", c_int), ("filter", c_int), ("sampling", c_int),
                ("antialias", c_bool), ("cubic", c_float), ("fit", c_int), ("pad", c_float * 4),
                ("matrix", c_int), ("range", c_int), ("dtype", c_int), ("pixels", c_int),
                ("mean", c_float * 4), ("deviation", c_float * 4), ("border", c_int), ("inverse", c_bool)]


class Region(Structure):
    _fields_ = [("x", c_double), ("y", c_double), ("width", c_double), ("height", c_double)]


class Crop(Structure):
    _fields_ = [("image", c_int64), ("region", Region)]


class Frame(Structure):
    _fields_ = [("pixels", c_int), ("layout", c_int), ("plane", c_void_p * 3), ("region", Region)]


_resize = _declare(_lib, c_void_p, "acu_op_resize", c_void_p, c_int64, c_int64, POINTER(Options), Site)
_crop = _declare(_lib, c_void_p, "acu_op_crop_resize", c_void_p, POINTER(Crop), c_size_t, c_int64,
                 c_int64, POINTER(Options), Site)
_color = _declare(_lib, c_void_p, "acu_op_color", c_void_p, c_int, c_int, POINTER(Options), Site)
_frames = _declare(_lib, c_void_p, "acu_op_image_to_tensor", POINTER(Frame), c_size_t, c_int64, c_int64,
                   POINTER(Options), Site)
_remap = _declare(_lib, c_void_p, "acu_op_remap", c_void_p, c_void_p, c_void_p, POINTER(Options), Site)
_affine = _declare(_lib, c_void_p, "acu_op_warp_affine", c_void_p, POINTER(c_double), c_int64, c_int64,
                   POINTER(Options), Site)
_perspective = _declare(_lib, c_void_p, "acu_op_warp_perspective", c_void_p, POINTER(c_double), c_int64,
                        c_int64, POINTER(Options), Site)
_rotate = _declare(_lib, c_void_p, "acu_op_rotate", c_void_p, c_double, POINTER(Options), Site)
_border = _declare(_lib, c_void_p, "acu_op_make_border", c_void_p, c_int64, c_int64, c_int64, c_int64,
                   POINTER(Options), Site)
_separable = _declare(_lib, c_void_p, "acu_op_filter_separable", c_void_p, POINTER(c_float), c_int, POINTER(c_float),
                      c_int, POINTER(Options), Site)
_lut = _declare(_lib, c_void_p, "acu_op_lut", c_void_p, c_void_p, POINTER(Options), Site)
_convert = _declare(_lib, c_void_p, "acu_op_convert_scale", c_void_p, c_int, c_double, c_double, Site)
_composite = _declare(_lib, c_void_p, "acu_op_composite", c_void_p, c_void_p, c_bool, POINTER(Options), Site)
_nms = _declare(_lib, c_void_p, "acu_op_nms", c_void_p, c_void_p, c_double, c_double, c_int64, Site)
_slice = _declare(_lib, c_void_p, "acu_op_slice", c_void_p, acuda.Shape, acuda.Shape, acuda.Shape, Site)

device = acuda.open_device(request=os.environ.get("ACUDA_TEST_DEVICE", "software").encode())


def options(**given):
    o = Options(size=ctypes.sizeof(Options))
    for name, value in given.items():
        if isinstance(value, (list, tuple)):
            value = (c_float * 4)(*value)
        setattr(o, name, FILTERS[value] if name == "filter" else PIXELS[value] if name == "pixels" else value)
    return ctypes.byref(o)


def shape(*dims):
    return acuda.Shape(len(dims), (c_int64 * acuda.MAX_RANK)(*dims))


def up(array, window=True):
    """An op that yields the array on the device."""
    array = np.ascontiguousarray(array)
    margins = ([(1, 2), (2, 1)] + [(0, 0)] * array.ndim)[:array.ndim] if window else [(0, 0)] * array.ndim
    around = np.pad(array, margins, constant_values=np.array(251).astype(array.dtype))
    whole = acuda.upload(device, around)
    start = shape(*[m[0] for m in margins])
    end = shape(*[m[0] + n for m, n in zip(margins, array.shape)])
    return _slice(_operand(whole.handle, _SITE), start, end, acuda.Shape(), _SITE)


def down(made):
    return acuda.run(device, made)


def resize(image, height, width, **given):
    return down(_resize(up(image), height, width, options(**given), _SITE))


def crop_resize(image, crops, height, width, **given):
    list_of = (Crop * len(crops))(*[Crop(0, Region(*c)) for c in crops])
    return down(_crop(up(image), list_of, len(crops), height, width, options(**given), _SITE))


def color(image, source, target, **given):
    dense = source in ("YUV420", "YUV422")
    return down(_color(up(image, not dense), PIXELS[source], PIXELS[target], options(**given), _SITE))


def remap(image, map_x, map_y, **given):
    return down(_remap(up(image), up(map_x), up(map_y), options(**given), _SITE))


def warp(image, matrix, height, width, **given):
    numbers = [float(v) for row in matrix for v in row]
    function = _affine if len(numbers) == 6 else _perspective
    return down(function(up(image), (c_double * len(numbers))(*numbers), height, width, options(**given), _SITE))


def rotate(image, degrees, **given):
    return down(_rotate(up(image), degrees, options(**given), _SITE))


def make_border(image, top, bottom, left, right, **given):
    return down(_border(up(image), top, bottom, left, right, options(**given), _SITE))


def run(name, image, *numbers, **given):
    """An operation of image_filters.h on an image and numbers."""
    kinds = [c_double if isinstance(n, float) else c_int for n in numbers]
    function = _declare(_lib, c_void_p, "acu_op_" + name, c_void_p, *kinds, POINTER(Options), Site)
    return down(function(up(image), *numbers, options(**given), _SITE))


def filter_separable(image, across, vertical, **given):
    taps = [(c_float * len(side))(*side) for side in (across, vertical)]
    return down(_separable(up(image), taps[0], len(across), taps[1], len(vertical), options(**given), _SITE))


def lut(image, table, **given):
    return down(_lut(up(image), up(table), options(**given), _SITE))


def convert_scale(image, dtype, scale, bias):
    return down(_convert(up(image), DTYPES[dtype], scale, bias, _SITE))


def normalize(image, **given):
    return run("normalize", image, **given)


def composite(under, over, premultiplied, **given):
    return down(_composite(up(under), up(over), premultiplied, options(**given), _SITE))


def nms(boxes, scores, overlap, least, most):
    return down(_nms(up(boxes), up(scores), overlap, least, most, _SITE))


def to_tensor(frames, height, width, **given):
    """frames: (pixels, [planes], region or None)"""
    made = [Frame(PIXELS[pixels], HWC, (c_void_p * 3)(*[up(p) for p in planes]), Region(*(region or ())))
            for pixels, planes, region in frames]
    return down(_frames((Frame * len(made))(*made), len(made), height, width, options(**given), _SITE))


def differ(have, want):
    assert have.shape == want.shape, (have.shape, want.shape)
    return float(np.max(np.abs(have.astype(np.float64) - want.astype(np.float64))))


def same(what, have, want, most):
    d = differ(have, want)
    assert d <= most, f"{what}: differs by {d}, more than {most}"
