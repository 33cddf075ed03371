# SPDX-License-Identifier: MIT OR Apache-2.0
"""Resizing with antialiasing beside Pillow. Run by test_pillow.sh."""
import numpy as np
from PIL import Image

import images

random = np.random.default_rng(1)
FILTERS = {"linear": Image.BILINEAR, "cubic": Image.BICUBIC, "lanczos": Image.LANCZOS}


def planes(image, height, width, kind, box=None):
    """Pillow's result for floats: it rounds, and limits, only images of bytes, and those in the middle too."""
    parts = [Image.fromarray(image[:, :, c].astype(np.float32)).resize((width, height), kind, box=box)
             for c in range(image.shape[2])]
    return np.stack([np.asarray(p) for p in parts], axis=2)


def sizes():
    for h, w, to_h, to_w in ((1, 1, 3, 4), (1, 9, 4, 2), (7, 1, 2, 5), (3, 3, 1, 1)):
        yield h, w, to_h, to_w
    for _ in range(6):
        yield tuple(int(n) for n in random.integers(1, 60, 4))


count = 0
for name, kind in FILTERS.items():
    for h, w, to_h, to_w in sizes():
        image = random.integers(0, 256, (h, w, int(random.integers(1, 5)))).astype(np.uint8)
        want = planes(image, to_h, to_w, kind)
        have = images.resize(image, to_h, to_w, filter=name, antialias=True)
        what = f"{name} of {h} x {w} to {to_h} x {to_w}"
        images.same(what, have, np.clip(np.rint(want), 0, 255), 1)
        have = images.resize(image.astype(np.float32), to_h, to_w, filter=name, antialias=True)
        images.same(what + ", f32", have, want, 0.01)
        count += 1

image = random.integers(0, 256, (40, 50, 3)).astype(np.uint8)
box = (3.25, 5.5, 37.0, 30.75)
want = planes(image, 16, 11, Image.BICUBIC, box)
have = images.crop_resize(image.astype(np.float32), [(box[0], box[1], box[2] - box[0], box[3] - box[1])], 16, 11,
                          filter="cubic", antialias=True)[0]
# Away from its edges: Pillow reads beyond them.
images.same("a region that is not of whole pixels", have[3:-3, 3:-3], want[3:-3, 3:-3], 0.01)

for h, w, to_h, to_w in sizes():
    image = random.integers(0, 256, (h, w, 3)).astype(np.uint8)
    # Where a place is on the edge of two pixels, Pillow's depends on how it rounds.
    rows, columns = (2 * np.arange(to_h) + 1) * h, (2 * np.arange(to_w) + 1) * w
    clear = np.ix_(rows % (2 * to_h) != 0, columns % (2 * to_w) != 0)
    want = image[np.ix_(rows // (2 * to_h), columns // (2 * to_w))]
    have = images.resize(image, to_h, to_w, filter="nearest")
    images.same(f"nearest of {h} x {w} to {to_h} x {to_w}", have, want, 0)
    if want[clear].size:
        images.same("and Pillow's", have[clear],
                    np.asarray(Image.fromarray(image).resize((to_w, to_h), Image.NEAREST))[clear], 0)
    want = np.asarray(Image.fromarray(image).resize((to_w, to_h), Image.BOX))
    if to_h <= h and to_w <= w and h % to_h == 0 and w % to_w == 0:
        images.same(f"area of {h} x {w} to {to_h} x {to_w}", images.resize(image, to_h, to_w, filter="area"), want, 1)
    count += 1
print(f"{count} sizes agree with Pillow {Image.__version__}")
