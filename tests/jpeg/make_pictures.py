# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes pictures.h: small JPEG files, made by Pillow, of a picture that a formula gives.

    python3 tests/jpeg/make_pictures.py > tests/jpeg/pictures.h
"""
import io

from PIL import Image

HEIGHT, WIDTH = 18, 25


def pixel(x, y):
    return 10 * x, 13 * y, 60 + 3 * x + 4 * y


rgb = Image.new("RGB", (WIDTH, HEIGHT))
rgb.putdata([pixel(x, y) for y in range(HEIGHT) for x in range(WIDTH)])
gray = Image.new("L", (WIDTH, HEIGHT))
gray.putdata([pixel(x, y)[0] for y in range(HEIGHT) for x in range(WIDTH)])

FILES = (
    ("baseline", rgb, {"quality": 90, "subsampling": 2}),
    ("progressive", rgb, {"quality": 90, "subsampling": 0, "progressive": True}),
    ("gray", gray, {"quality": 90}),
    ("cmyk", rgb.convert("CMYK"), {"quality": 50}),
)

print("""/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small JPEG files; written by make_pictures.py. */
#ifndef ACUDA_TESTS_JPEG_PICTURES_H
#define ACUDA_TESTS_JPEG_PICTURES_H

#include <stdint.h>
""")
print(f"enum {{ PICTURE_HEIGHT = {HEIGHT}, PICTURE_WIDTH = {WIDTH} }};")
for name, image, options in FILES:
    file = io.BytesIO()
    image.save(file, "JPEG", optimize=True, **options)
    data = file.getvalue()
    print(f"\nstatic const uint8_t picture_{name}[] = {{")
    for at in range(0, len(data), 19):
        print("    " + " ".join(f"{byte}," for byte in data[at:at + 19]))
    print("};")
print("\n#endif")
