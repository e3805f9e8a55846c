"""Small images from a random seed: shapes and words on a plain ground, and textures."""

import io

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

FONT = f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf"
WORDS = ("map", "owl", "tea", "ink", "sky", "ant", "jam", "fox")


def drawing(seed, size=(240, 300), shapes=9, ground=245):
    """Rectangles, ellipses, lines and a word, in random places and colours."""
    rng = np.random.default_rng(seed)
    height, width = size
    image = Image.new("RGB", (width, height), (ground,) * 3)
    draw = ImageDraw.Draw(image)
    for number in range(shapes):
        x, y = rng.integers(10, width * 2 // 3), rng.integers(10, height * 2 // 3)
        box = [x, y, x + rng.integers(20, width // 3), y + rng.integers(20, height // 3)]
        colour = tuple(rng.integers(0, 200, 3).tolist())
        box = [int(side) for side in box]
        kind = (draw.rectangle, draw.ellipse, draw.line)[number % 3]
        kind(box, fill=colour, **({"width": 5} if number % 3 == 2 else {}))
    word = WORDS[seed % len(WORDS)]
    draw.text((width // 4, height // 2), word, fill=(10, 10, 10), font=font(height // 4))
    return np.asarray(image)


def texture(seed, size=(240, 300)):
    """Smooth random colours with detail at all sizes, up to the edges."""
    rng = np.random.default_rng(seed)
    total = np.zeros((*size, 3))
    for cells in (4, 10, 24, 60):
        small = rng.integers(0, 256, (cells, cells, 3), np.uint8)
        layer = Image.fromarray(small).resize(size[::-1], Image.Resampling.BICUBIC)
        total += np.asarray(layer, np.float64) / 4
    return total.astype(np.uint8)


def font(size):
    return ImageFont.truetype(FONT, size)


def jpeg(rgb, quality):
    data = io.BytesIO()
    Image.fromarray(rgb).save(data, "JPEG", quality=quality)
    return np.asarray(Image.open(data).convert("RGB"))


def resized(rgb, share):
    height, width = (round(side * share) for side in rgb.shape[:2])
    return np.asarray(Image.fromarray(rgb).resize((width, height), Image.Resampling.LANCZOS))


def blurred(rgb, radius):
    return np.asarray(Image.fromarray(rgb).filter(ImageFilter.GaussianBlur(radius)))


def noisy(rgb, spread=6):
    grain = np.random.default_rng(1).normal(0, spread, rgb.shape)
    return np.clip(rgb + grain, 0, 255).astype(np.uint8)


def turned(rgb, degrees):
    how = Image.Resampling.BICUBIC
    return np.asarray(Image.fromarray(rgb).rotate(degrees, how, fillcolor=(0, 0, 0)))


def framed(rgb, width, colour=0):
    edges = ((width, width), (width, width), (0, 0))
    return np.pad(rgb, edges, constant_values=colour)


def cropped(rgb, share):
    height, width = rgb.shape[:2]
    top, left = (round(side * (1 - share) / 2) for side in (height, width))
    return np.ascontiguousarray(rgb[top : height - top, left : width - left])


def captioned(rgb, text="Summer holidays 2024"):
    """A black bar with white words over the lower fifth."""
    height, width = rgb.shape[:2]
    image = Image.fromarray(rgb.copy())
    draw = ImageDraw.Draw(image)
    draw.rectangle([0, height - height // 5, width, height], fill=(0, 0, 0))
    at = (width // 20, height - height // 5 + height // 40)
    draw.text(at, text, fill=(255, 255, 255), font=font(height // 10))
    return np.asarray(image)


def pasted(rgb, ground, at, share):
    """A reduced image pasted on another one."""
    small = resized(rgb, share)
    result = ground.copy()
    result[at[0] : at[0] + small.shape[0], at[1] : at[1] + small.shape[1]] = small
    return result


def card(suit, count=5):
    """A playing card: a frame, the number in two corners, and that many suit symbols."""
    image = Image.new("RGB", (200, 280), (255, 255, 255))
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle([4, 4, 195, 275], 14, outline=(0, 0, 0), width=3)
    colour = (200, 0, 0) if suit in "♥♦" else (0, 0, 0)
    places = [(60, 60), (140, 60), (100, 140), (60, 220), (140, 220)][:count]
    for place in places:
        draw.text(place, suit, fill=colour, font=font(52), anchor="mm")
    for place in ((24, 28), (176, 252)):
        draw.text(place, str(count), fill=colour, font=font(30), anchor="mm")
    return np.asarray(image)


def symbol(sign, angle=0.0, at=(100, 100), size=110, ground=250, ink=20):
    """One sign on a plain ground."""
    image = Image.new("RGB", (200, 200), (ground,) * 3)
    ImageDraw.Draw(image).text(at, sign, fill=(ink,) * 3, font=font(size), anchor="mm")
    fill = (ground,) * 3
    return np.asarray(image.rotate(angle, Image.Resampling.BICUBIC, fillcolor=fill))
