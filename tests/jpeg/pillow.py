# SPDX-License-Identifier: MIT OR Apache-2.0
"""JPEG files beside Pillow, which decodes by libjpeg-turbo, too. Run by test_pillow.sh."""
import ctypes
import io

import numpy as np
from PIL import Image

import images
from acuda_raw import _SITE, Site, _declare, _lib

random = np.random.default_rng(5)
_decode = _declare(_lib, ctypes.c_void_p, "acu_op_jpeg_decode", ctypes.c_char_p, ctypes.c_size_t,
                   ctypes.POINTER(images.Options), Site)


def decode(data, **given):
    return images.down(_decode(data, len(data), images.options(**given), _SITE))


def files():
    for height, width in ((1, 1), (1, 40), (33, 2), (8, 8), (17, 31), (64, 129)):
        rough = random.integers(0, 256, (height, width, 3)).astype(np.uint8)
        for subsampling in (0, 1, 2):
            for progressive in (False, True):
                file = io.BytesIO()
                Image.fromarray(rough).save(file, "JPEG", quality=int(random.integers(20, 100)),
                                            subsampling=subsampling, progressive=progressive, comment=b"noise")
                yield f"{height} x {width}, {subsampling}, {progressive}", file.getvalue()
        file = io.BytesIO()
        Image.fromarray(rough[:, :, 0]).save(file, "JPEG", quality=80)
        yield f"gray {height} x {width}", file.getvalue()


count = 0
for name, data in files():
    want = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    images.same(name, decode(data), want, 0)
    images.same(name + ", BGR planes", decode(data, pixels="BGR", layout=images.CHW),
                want[:, :, ::-1].transpose(2, 0, 1), 0)
    draft = Image.open(io.BytesIO(data))
    draft.draft("L", draft.size)
    images.same(name + ", gray", decode(data, pixels="GRAY"), np.asarray(draft), 0)
    count += 1
print(f"{count} files agree with Pillow {Image.__version__}")
