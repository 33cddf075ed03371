# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations on images beside OpenCV. Run by test_opencv.sh."""
import cv2
import numpy as np

import images

random = np.random.default_rng(2)
cv2.setNumThreads(1)
count = 0


def noise(*shape, dtype=np.uint8):
    if dtype == np.float32:
        return random.random(shape, np.float32)
    return random.integers(0, np.iinfo(dtype).max + 1, shape).astype(dtype)


def sizes(n):
    yield from ((1, 1, 3, 4), (1, 9, 4, 2), (7, 1, 2, 5), (3, 3, 1, 1), (33, 17, 33, 17))
    for _ in range(n):
        yield tuple(int(k) for k in random.integers(1, 70, 4))


def same(what, have, want, most):
    global count
    images.same(what, have, want.reshape(have.shape), most)
    count += 1


def clear_places(h, w, to_h, to_w):
    """OpenCV multiplies by a rounded ratio: where d * w / to_w is a whole number, it may be one less."""
    rows, columns = np.arange(to_h) * h, np.arange(to_w) * w
    return np.ix_((rows % to_h != 0) | (rows == 0), (columns % to_w != 0) | (columns == 0))


# ---- resizing ----

KINDS = {"linear": cv2.INTER_LINEAR, "cubic": cv2.INTER_CUBIC, "lanczos4": cv2.INTER_LANCZOS4,
         "area": cv2.INTER_AREA}
for name, kind in KINDS.items():
    for h, w, to_h, to_w in sizes(8):
        if name == "area" and (to_h < h) != (to_w < w):
            continue  # larger along one axis, and smaller along the other: OpenCV does something else
        channels = int(random.integers(1, 5))
        for dtype, most in ((np.uint8, 1), (np.uint16, 40), (np.float32, 2e-4)):
            image = noise(h, w, channels, dtype=dtype)
            want = cv2.resize(image, (to_w, to_h), interpolation=kind)
            have = images.resize(image, to_h, to_w, filter=name)
            clear = clear_places(h, w, to_h, to_w) if name == "area" and to_h > h else ...
            same(f"{name} of {dtype.__name__}, {h} x {w} to {to_h} x {to_w}", have[clear],
                 want.reshape(have.shape)[clear], most)
for h, w, to_h, to_w in sizes(8):
    image = noise(h, w, 3)
    want = cv2.resize(image, (to_w, to_h), interpolation=cv2.INTER_NEAREST)
    clear = clear_places(h, w, to_h, to_w)
    have = images.resize(image, to_h, to_w, filter="nearest", sampling=images.TOP_LEFT)
    same(f"nearest, {h} x {w} to {to_h} x {to_w}", have[clear], want[clear], 0)
image = noise(48, 64, 3)
want = np.stack([cv2.resize(image[y:y + h, x:x + w], (20, 12)) for x, y, w, h in ((0, 0, 64, 48), (5, 7, 31, 9))])
same("crops", images.crop_resize(image, [(0, 0, 64, 48), (5, 7, 31, 9)], 12, 20), want, 1)

# ---- colours ----

for _ in range(4):
    h, w = (2 * int(n) for n in random.integers(1, 20, 2))
    rgb, rgba = noise(h, w, 3), noise(h, w, 4)
    for source, target, image, code in (
            ("RGB", "BGR", rgb, cv2.COLOR_RGB2BGR), ("RGB", "RGBA", rgb, cv2.COLOR_RGB2RGBA),
            ("BGR", "RGBA", rgb, cv2.COLOR_BGR2RGBA), ("RGBA", "BGR", rgba, cv2.COLOR_RGBA2BGR),
            ("BGRA", "RGBA", rgba, cv2.COLOR_BGRA2RGBA), ("RGB", "GRAY", rgb, cv2.COLOR_RGB2GRAY),
            ("BGRA", "GRAY", rgba, cv2.COLOR_BGRA2GRAY), ("GRAY", "BGR", rgb[:, :, :1], cv2.COLOR_GRAY2BGR),
            ("GRAY", "RGBA", rgb[:, :, :1], cv2.COLOR_GRAY2RGBA)):
        same(f"{source} to {target}", images.color(image, source, target), cv2.cvtColor(image, code), 1)
    for source, rows, codes in (
            ("NV12", 3, (cv2.COLOR_YUV2RGB_NV12, cv2.COLOR_YUV2BGRA_NV12)),
            ("NV21", 3, (cv2.COLOR_YUV2RGB_NV21, cv2.COLOR_YUV2BGRA_NV21)),
            ("YUV420", 3, (cv2.COLOR_YUV2RGB_I420, cv2.COLOR_YUV2BGRA_I420))):
        image = np.maximum(noise(h // 2 * rows, w), 16)  # OpenCV makes 16 of less luma
        same(f"{source} to RGB", images.color(image, source, "RGB"), cv2.cvtColor(image, codes[0]), 1)
        same(f"{source} to BGRA", images.color(image, source, "BGRA"), cv2.cvtColor(image, codes[1]), 1)
        gray = images.color(image, source, "GRAY", range=1)
        assert gray.shape == (h, w, 1), gray.shape
    image = np.maximum(noise(h, w, 2), 16)
    same("YUYV to RGB", images.color(image, "YUYV", "RGB"), cv2.cvtColor(image, cv2.COLOR_YUV2RGB_YUY2), 1)
    same("UYVY to BGR", images.color(image, "UYVY", "BGR"), cv2.cvtColor(image, cv2.COLOR_YUV2BGR_UYVY), 1)
    image = noise(h, w, 3)
    want = cv2.cvtColor(image, cv2.COLOR_YCrCb2RGB)
    same("YUV444 to RGB", images.color(image[:, :, [0, 2, 1]], "YUV444", "RGB", range=1), want, 1)
    want = cv2.cvtColor(image, cv2.COLOR_RGB2YCrCb)[:, :, [0, 2, 1]]
    same("RGB to YUV444", images.color(image, "RGB", "YUV444", range=1), want, 1)
    blocks = noise(h // 2, w // 2, 3).repeat(2, 0).repeat(2, 1)  # OpenCV takes chroma from one of four
    same("RGB to YUV420", images.color(blocks, "RGB", "YUV420"), cv2.cvtColor(blocks, cv2.COLOR_RGB2YUV_I420), 1)
    planar = cv2.cvtColor(blocks, cv2.COLOR_RGB2YUV_I420).ravel()
    u, v = planar[h * w:h * w * 5 // 4], planar[h * w * 5 // 4:]
    for target, chroma in (("NV12", (u, v)), ("NV21", (v, u))):
        want = np.concatenate([planar[:h * w], np.stack(chroma, 1).ravel()]).reshape(h * 3 // 2, w)
        same(f"RGB to {target}", images.color(blocks, "RGB", target), want, 1)

# ---- everything at once, beside OpenCV's steps ----

frames, wants = [], []
for h, w in ((48, 64), (20, 30), (90, 34)):
    image = np.maximum(noise(h * 3 // 2, w), 16)

    rgb = cv2.cvtColor(image, cv2.COLOR_YUV2RGB_NV12)
    scale = min(24 / h, 32 / w)
    inner_h, inner_w = int(h * scale + 0.5), int(w * scale + 0.5)
    top, left = (24 - inner_h) // 2, (32 - inner_w) // 2
    boxed = np.full((24, 32, 3), 114, np.uint8)
    boxed[top:top + inner_h, left:left + inner_w] = cv2.resize(rgb, (inner_w, inner_h))
    wants.append(((boxed / 255 - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)).transpose(2, 0, 1))
    frames.append(("NV12", [image[:h], image[h:].reshape(h // 2, w // 2, 2)], None))
have = images.to_tensor(frames, 24, 32, fit=1, pad=(114, 114, 114, 0), layout=images.CHW,
                        dtype=images.DTYPES["float32"], mean=(0.485, 0.456, 0.406, 0),
                        deviation=(0.229, 0.224, 0.225, 0))
same("NV12 frames to a tensor", have, np.stack(wants), 2.5 / 255 / 0.224)
# ---- geometry ----

BORDERS = {1: cv2.BORDER_CONSTANT, 2: cv2.BORDER_REPLICATE, 3: cv2.BORDER_REFLECT, 4: cv2.BORDER_REFLECT_101,
           5: cv2.BORDER_WRAP}
for border, kind in BORDERS.items():
    for h, w in ((1, 1), (1, 5), (7, 3), (20, 31)):
        image = noise(h, w, 3)
        extra = [int(n) for n in random.integers(0, 9, 4)]
        want = cv2.copyMakeBorder(image, *extra, kind, value=(10, 20, 30))
        same(f"border {border}", images.make_border(image, *extra, border=border, pad=(10, 20, 30, 0)), want, 0)
        # The border goes around before: OpenCV's remap wraps only what it reads whole, and that of 5.0 never
        # ends for a border that mirrors an image of one pixel. It computes with places of 1/32 of a pixel, and
        # so do these maps.
        padded = cv2.copyMakeBorder(image, 12, 12, 12, 12, kind, value=(10, 20, 30))
        map_x = (random.integers(-6 * 32, (w + 6) * 32, (9, 40)) / 32).astype(np.float32)
        map_y = (random.integers(-6 * 32, (h + 6) * 32, (9, 40)) / 32).astype(np.float32)
        for name in ("linear", "cubic", "lanczos4"):
            want = cv2.remap(padded, map_x + 12, map_y + 12, KINDS[name])
            have = images.remap(image, map_x, map_y, filter=name, border=border, pad=(10, 20, 30, 0))
            same(f"remap of {h} x {w}, {name}, border {border}", have, want, 1)
        whole_x, whole_y = np.floor(map_x), np.floor(map_y)
        want = cv2.remap(padded, whole_x + 12, whole_y + 12, cv2.INTER_NEAREST)
        same("remap, nearest", images.remap(image, whole_x, whole_y, filter="nearest", border=border,
                                            pad=(10, 20, 30, 0)), want, 0)
# Between 1/32 of a pixel, this image changes by less than 0.3.
y, x = np.mgrid[0:60, 0:80]
smooth = np.stack([100 + 60 * np.sin(x / 12 + c) * np.cos(y / 15) for c in range(3)], 2).astype(np.uint8)
turn = cv2.getRotationMatrix2D((39.5, 29.5), 25, 1.1)
want = cv2.warpAffine(smooth, turn, (90, 50), borderMode=cv2.BORDER_REPLICATE)
same("warp_affine", images.warp(smooth, turn, 50, 90, border=2), want, 2)
want = cv2.warpAffine(smooth, turn, (90, 50), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
                      borderMode=cv2.BORDER_REFLECT_101)
same("warp_affine, inverse", images.warp(smooth, turn, 50, 90, border=4, inverse=True), want, 2)
square = noise(9, 9, 3)
same("rotate", images.rotate(square, 90), cv2.rotate(square, cv2.ROTATE_90_COUNTERCLOCKWISE), 0)
corners = np.float32([[0, 0], [79, 0], [79, 59], [0, 59]])
tilt = cv2.getPerspectiveTransform(corners, np.float32([[5, 3], [70, 9], [60, 50], [12, 44]]))
want = cv2.warpPerspective(smooth, tilt, (80, 60), borderMode=cv2.BORDER_REPLICATE)
same("warp_perspective", images.warp(smooth, tilt, 60, 80, border=2), want, 2)
# ---- filters, levels ----

for h, w in ((1, 1), (1, 6), (5, 2), (34, 45)):
    image = noise(h, w, 3)
    gray = np.ascontiguousarray(image[:, :, :1])
    for border, kind in BORDERS.items():
        if border in (1, 5):
            continue  # OpenCV's filters have no colour for the border, and do not wrap
        what = f"of {h} x {w}, border {border}"
        same("box " + what, images.run("box_blur", image, 3, 5, border=border),
             cv2.blur(image, (5, 3), borderType=kind), 1)
        # Of floats: OpenCV rounds the weights for bytes to 1/256, which makes two of 255 of them.
        want = cv2.GaussianBlur(image.astype(np.float32), (5, 7), 1.3, 1.3, borderType=kind)
        same("Gaussian " + what, images.run("gaussian_blur", image, 7, 5, 1.3, border=border), np.rint(want), 1)
        for dx, dy, size in ((1, 0, 3), (0, 1, 5), (1, 1, 3), (2, 0, 7)):
            same("Sobel " + what, images.run("sobel", image, dx, dy, size, border=border,
                                             dtype=images.DTYPES["float32"]),
                 cv2.Sobel(image, cv2.CV_32F, dx, dy, ksize=size, borderType=kind), 0.01)
        same("bilateral " + what, images.run("bilateral", image, 5, 30.0, 2.0, border=border),
             cv2.bilateralFilter(image, 5, 30, 2, borderType=kind), 1)
    for size in (3, 5, 7):
        same(f"median {size}", images.run("median_blur", image, size), cv2.medianBlur(image, size), 0)
    for shape in range(3):
        element = cv2.getStructuringElement(shape, (7, 5))
        for morph in range(4):
            want = cv2.morphologyEx(image, morph, element)
            same(f"morphology {morph}, shape {shape}", images.run("morphology", image, morph, shape, 5, 7), want, 0)
    for kind in range(5):
        want = cv2.threshold(image, 120, 200, kind)[1]
        same(f"threshold {kind}", images.run("threshold", image, kind, 120.0, 200.0), want, 0)
    hills = np.where(gray < 100, 40 + gray // 4, 150 + gray // 4).astype(np.uint8)
    want = cv2.threshold(hills, 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)[1]
    if h > 1:
        same("Otsu", images.run("threshold_otsu", hills, 0, 255.0), want, 0)
    want = np.stack([cv2.calcHist([image], [c], None, [256], [0, 256]).ravel() for c in range(3)])
    same("histogram", images.run("histogram", image), want, 0)
    same("equalize", images.run("equalize", gray), cv2.equalizeHist(gray), 1)
    taps = [np.float32(random.random(n)) / n for n in (5, 3)]
    for border in (2, 4):
        want = cv2.sepFilter2D(image, cv2.CV_32F, *taps, borderType=BORDERS[border])
        same("separable", images.filter_separable(image, *taps, border=border, dtype=images.DTYPES["float32"]), want,
             0.01)
    for table in (noise(256), noise(256, dtype=np.float32)):
        same("a table", images.lut(image, table), cv2.LUT(image, table), 0)
    tables = noise(3, 256)
    same("a table for each channel", images.lut(image, tables), cv2.LUT(image, tables.T.reshape(1, 256, 3)), 0)
    for gamma in (0.45, 1.0, 2.2):
        table = np.rint((np.arange(256) / 255) ** gamma * 255).astype(np.uint8)
        same(f"gamma {gamma}", images.run("gamma", image, gamma), cv2.LUT(image, table), 1)
    for scale, bias in ((1.7, -30.0), (-1.0, 255.0), (0.25, 100.25)):
        same("converted and scaled", images.convert_scale(image, "uint8", scale, bias),
             cv2.addWeighted(image, scale, image, 0, bias), 1)
        same("and to floats", images.convert_scale(image, "float32", scale, bias),
             cv2.addWeighted(image, scale, image, 0, bias, dtype=cv2.CV_32F), 1e-3)
    mean, deviation = (0.4, 0.5, 0.6), (0.2, 0.3, 0.25)
    want = cv2.divide(cv2.subtract(image / np.float32(255), mean + (0,)), deviation + (1,))
    same("normalised", images.normalize(image, dtype=images.DTYPES["float32"], mean=mean + (0,),
                                        deviation=deviation + (1,)), want, 1e-5)
    for factor in (0.6, 1.4):
        want = cv2.addWeighted(image, factor, image, 0, 0)
        same("brightness", images.run("adjust", image, factor, 1.0, 1.0, 0.0), want, 1)
        want = cv2.addWeighted(image, factor, image, 0, 127.5 * (1 - factor))
        same("contrast", images.run("adjust", image, 1.0, factor, 1.0, 0.0), want, 1)
        luma = cv2.cvtColor(cv2.cvtColor(image / np.float32(255), cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB) * 255
        want = cv2.addWeighted(image.astype(np.float32), factor, luma, 1 - factor, 0)
        same("saturation", images.run("adjust", image, 1.0, 1.0, factor, 0.0), np.clip(np.rint(want), 0, 255), 1)
    over = noise(h, w, 4)
    alpha = cv2.cvtColor(over[:, :, 3], cv2.COLOR_GRAY2RGB) / np.float32(255)
    under = image.astype(np.float32)
    want = cv2.multiply(over[:, :, :3].astype(np.float32), alpha) + cv2.multiply(under, 1 - alpha)
    same("composite", images.composite(image, over, False), np.rint(want), 1)
    half = (over // 2) + np.uint8([0, 0, 0, 127])  # no colour is above its alpha
    alpha = cv2.cvtColor(half[:, :, 3], cv2.COLOR_GRAY2RGB) / np.float32(255)
    want = half[:, :, :3] + cv2.multiply(under, 1 - alpha)
    same("composite, premultiplied", images.composite(image, half, True), np.rint(want), 1)

# ---- boxes ----

for n in (1, 2, 40):
    corner, extent = random.integers(0, 90, (n, 2)), random.integers(5, 40, (n, 2))
    boxes = np.concatenate([corner, corner + extent], 1).astype(np.float32)
    scores = random.permutation(n).astype(np.float32) / n + np.float32(0.1)
    kept = cv2.dnn.NMSBoxes(np.concatenate([corner, extent], 1).tolist(), scores.tolist(), 0.25, 0.4)
    want = np.full(n, -1, np.int64)
    want[:len(kept)] = np.ravel(kept)
    same(f"nms of {n}", images.nms(boxes, scores, 0.4, 0.25, n), want, 0)
print(f"{count} results agree with OpenCV {cv2.__version__}")
