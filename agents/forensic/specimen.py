"""
A synthetic photograph and three forgeries of it, with the true masks; the same on every run.

The photograph is made the way a camera makes one: light, photon and read noise, a fixed pattern per
pixel, a colour-filter mosaic, interpolation, a tone curve, JPEG. The demo and the tests look at
them; `python -m parley.agents.forensic.specimen DIR` writes all of them.
"""

import io
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

HEIGHT, WIDTH = 768, 1024
Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Made:
    """An image file and the pixels that were tampered with (none in the untouched one)."""

    name: str
    data: bytes
    mask: Mask


def _fractal(rng: np.random.Generator, slope: float) -> NDArray[np.float64]:
    vertical, horizontal = np.meshgrid(
        np.fft.fftfreq(HEIGHT), np.fft.rfftfreq(WIDTH), indexing="ij"
    )
    radius = np.maximum(np.hypot(vertical, horizontal), 1 / WIDTH)
    phase = rng.uniform(0, 2 * np.pi, radius.shape)
    field = np.fft.irfft2(radius**-slope * np.exp(1j * phase), (HEIGHT, WIDTH))
    return np.asarray((field - field.mean()) / field.std())


def _scene(rng: np.random.Generator) -> NDArray[np.float64]:
    """Linear light in 0..1: sky over ground, with blurred-edged objects."""
    sky = np.linspace(0.75, 0.35, HEIGHT)[:, None] * np.array([0.7, 0.85, 1.0])
    scene = np.repeat(sky[:, None, :], WIDTH, axis=1).reshape(HEIGHT, WIDTH, 3)
    ground = 0.22 + 0.07 * _fractal(rng, 1.3)[..., None] * np.array([1.0, 0.95, 0.6])
    edge = HEIGHT * 0.45 + 30 * _fractal(rng, 2.0)[HEIGHT // 2]
    below = np.arange(HEIGHT)[:, None] > edge[None, :]
    scene = np.where(below[..., None], ground, scene + 0.02 * _fractal(rng, 1.8)[..., None])
    for _ in range(14):
        canvas = np.zeros((HEIGHT, WIDTH), np.uint8)
        centre = (int(rng.integers(0, WIDTH)), int(rng.integers(HEIGHT // 3, HEIGHT)))
        axes = (int(rng.integers(20, 110)), int(rng.integers(20, 90)))
        cv2.ellipse(canvas, centre, axes, float(rng.uniform(0, 180)), 0, 360, 255, -1, cv2.LINE_AA)
        cover = cv2.GaussianBlur(canvas.astype(np.float64) / 255, (0, 0), 0.8)[..., None]
        colour = rng.uniform(0.05, 0.7, 3) * (1 + 0.15 * _fractal(rng, 1.1)[..., None])
        scene = scene * (1 - cover) + colour * cover
    return np.asarray(np.clip(scene, 0.004, 0.98))


def _sensitivity(camera: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(10_000 + camera)
    return np.asarray(1 + 0.012 * rng.standard_normal((HEIGHT, WIDTH)))


def _camera(
    light: NDArray[np.float64], rng: np.random.Generator, photons: float, camera: int = 0
) -> Pixels:
    pattern = _sensitivity(camera)
    mosaic = np.empty((HEIGHT, WIDTH))
    for row, column, channel in ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 2)):
        mosaic[row::2, column::2] = light[row::2, column::2, channel]
    counted = rng.poisson(np.clip(mosaic * pattern, 0, 1) * photons) / photons
    raw = np.clip(counted + 0.002 * rng.standard_normal(counted.shape), 0, 1)
    sixteen = (raw * 65535).astype(np.uint16)
    linear = cv2.cvtColor(sixteen, cv2.COLOR_BayerRGGB2RGB).astype(np.float64) / 65535
    return np.asarray(np.rint(255 * linear ** (1 / 2.2)), np.uint8)


@lru_cache(maxsize=8)
def _photograph(seed: int, photons: float) -> Pixels:
    """Read-only: every forgery starts from a copy."""
    rng = np.random.default_rng(seed)
    pixels = _camera(_scene(rng), rng, photons)
    pixels.flags.writeable = False
    return pixels


def jpeg(pixels: Pixels, quality: int) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=quality)
    return out.getvalue()


def png(pixels: Pixels) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def opened(data: bytes) -> Pixels:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def _ellipse(centre: tuple[int, int], axes: tuple[int, int]) -> Mask:
    canvas = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.ellipse(canvas, centre, axes, 0, 0, 360, 255, -1)
    return np.asarray(canvas > 0)


def untouched(seed: int = 7) -> Made:
    return Made("untouched.jpg", jpeg(_photograph(seed, 4000), 95), np.zeros((HEIGHT, WIDTH), bool))


def spliced(seed: int = 7) -> Made:
    """An object from a noisier photograph that had been compressed more, pasted and re-saved."""
    base = opened(jpeg(_photograph(seed, 4000), 85)).copy()
    donor = opened(jpeg(_photograph(seed + 100, 350), 92))
    mask = _ellipse((640, 420), (150, 120))
    base[mask] = np.roll(donor, (3, 5), (0, 1))[mask]
    return Made("spliced.jpg", jpeg(base, 95), mask)


def copy_moved(seed: int = 7) -> Made:
    """A piece of ground moved onto another place; both ends are in the mask."""
    base = _photograph(seed, 4000).copy()
    source = _ellipse((250, 600), (110, 80))
    target = _ellipse((250 + 420, 600 - 90), (110, 80))
    base[target] = base[source]
    return Made("copy_moved.png", png(base), source | target)


def inpainted(seed: int = 7) -> Made:
    """A region filled the way a latent generator fills one: smooth, upsampled, without grain."""
    base = _photograph(seed, 4000).copy()
    rng = np.random.default_rng(seed + 200)
    mask = _ellipse((420, 480), (140, 130))
    coarse = cv2.resize(base, (WIDTH // 8, HEIGHT // 8), interpolation=cv2.INTER_AREA)
    coarse = np.clip(coarse + rng.normal(0, 6, coarse.shape), 0, 255).astype(np.uint8)
    fill = cv2.resize(coarse, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)
    cover = cv2.GaussianBlur(mask.astype(np.float64), (0, 0), 2)[..., None]
    mixed = np.rint(base * (1 - cover) + fill * cover).astype(np.uint8)
    return Made("inpainted.png", png(mixed), mask)


def flat_field(camera: int, shot: int) -> bytes:
    """An evenly lit wall, for learning a camera's fingerprint."""
    rng = np.random.default_rng(500 + 31 * camera + shot)
    return png(_camera(np.full((HEIGHT, WIDTH, 3), 0.5), rng, 4000, camera))


def photograph_by(camera: int) -> bytes:
    rng = np.random.default_rng(900)
    return png(_camera(_scene(rng), rng, 4000, camera))


def all_made() -> tuple[Made, ...]:
    return untouched(), spliced(), copy_moved(), inpainted()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for made in all_made():
        (folder / made.name).write_bytes(made.data)
