#!/usr/bin/env python3
"""digit_pictures.py FOLDER: pictures of the ten digits in the fonts of this system, turned, moved, coloured and blurred, as
`warpmark run resnet50 --set data=FOLDER` reads them: 300 a class to train with, and 60 in fonts that training never sees.
Needs Pillow and fonts-dejavu, fonts-lato, fonts-liberation."""
import glob
import pathlib
import random
import sys

from PIL import Image, ImageDraw, ImageFilter, ImageFont

SIZE = 72


def picture(digit, font, draw):
    image = Image.new("RGB", (SIZE, SIZE), tuple(draw.randrange(90, 256) for _ in range(3)))
    mask = Image.new("L", (SIZE, SIZE), 0)
    ImageDraw.Draw(mask).text((SIZE // 2, SIZE // 2), digit, font=ImageFont.truetype(font, draw.randrange(34, 58)), fill=255, anchor="mm")
    mask = mask.rotate(draw.uniform(-20, 20), translate=(draw.randrange(-6, 7), draw.randrange(-6, 7)))
    image.paste(tuple(draw.randrange(0, 110) for _ in range(3)), mask=mask)
    return image.filter(ImageFilter.GaussianBlur(draw.uniform(0, 1.2)))


def main():
    draw = random.Random(7)
    fonts = sorted(font for name in ("DejaVu", "Lato", "Liberation") for font in glob.glob(f"/usr/share/fonts/truetype/*/{name}*.ttf"))
    draw.shuffle(fonts)
    seen = len(fonts) * 4 // 5
    for part, some, count in (("train", fonts[:seen], 300), ("val", fonts[seen:], 60)):
        for digit in "0123456789":
            folder = pathlib.Path(sys.argv[1]) / part / digit
            folder.mkdir(parents=True, exist_ok=True)
            for i in range(count):
                picture(digit, draw.choice(some), draw).save(folder / f"{i}.png")
    print(f"{len(fonts)} fonts, {seen} of them to train with")


if __name__ == "__main__":
    main()
