"""
Read what a file says about itself: EXIF, XMP, PNG text, C2PA.

Runs in the decoding subprocess. Only named fields leave it, shortened and stripped of control
characters, because every string here was written by a stranger; positions (GPS) never leave it.
"""

import io
import json
import re
from dataclasses import dataclass

from PIL import ExifTags, Image

_TEXT_LIMIT = 200
_PNG_KEYS = (
    "parameters", "prompt", "workflow", "Software", "Comment", "Description", "Source",
    "Title", "sd-metadata", "invokeai_metadata", "Dream", "generation_data",
)  # fmt: skip
_DIGITAL_SOURCE = re.compile(r"DigitalSourceType[^>]{0,40}?[\"'>]\s*([^\"'<]{1,200})")
_CREATOR_TOOL = re.compile(r"CreatorTool(?:=[\"']|>)\s*([^\"'<]{1,200})")
_HISTORY_AGENT = re.compile(r"softwareAgent(?:=[\"']|>)\s*([^\"'<]{1,200})")
_HISTORY_ACTION = re.compile(r"stEvt:action(?:=[\"']|>)")


@dataclass(frozen=True, slots=True)
class Provenance:
    make: str = ""
    model: str = ""
    software: str = ""
    has_capture_settings: bool = False
    has_maker_note: bool = False
    digital_source_type: str = ""
    creator_tool: str = ""
    history_agent: str = ""
    history_steps: int = 0
    png_text: tuple[tuple[str, str], ...] = ()
    comment: str = ""
    has_adobe_marker: bool = False
    c2pa: "ContentCredentials | None" = None


@dataclass(frozen=True, slots=True)
class ContentCredentials:
    """A C2PA manifest. Validity (the bytes match) and trust (who signed) are different claims."""

    valid: bool
    signer_trusted: bool
    signer: str
    generator: str
    says_ai: bool
    says_edited: bool
    problem: str = ""


def clean(text: object) -> str:
    raw = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    printable = "".join(c if c.isprintable() else " " for c in raw[: 4 * _TEXT_LIMIT])
    return " ".join(printable.split())[:_TEXT_LIMIT]


def read_provenance(image: Image.Image, data: bytes, media_type: str) -> Provenance:
    exif = image.getexif()
    capture = exif.get_ifd(ExifTags.IFD.Exif) if exif else {}
    xmp = _xmp_packet(image)
    return Provenance(
        make=clean(exif.get(ExifTags.Base.Make, "")),
        model=clean(exif.get(ExifTags.Base.Model, "")),
        software=clean(exif.get(ExifTags.Base.Software, "")),
        has_capture_settings=bool(
            {ExifTags.Base.ExposureTime, ExifTags.Base.FNumber, ExifTags.Base.ISOSpeedRatings}
            & set(capture)
        ),
        has_maker_note=ExifTags.Base.MakerNote in capture,
        digital_source_type=_first(_DIGITAL_SOURCE, xmp),
        creator_tool=_first(_CREATOR_TOOL, xmp),
        history_agent=_first(_HISTORY_AGENT, xmp),
        history_steps=len(_HISTORY_ACTION.findall(xmp)),
        png_text=tuple((key, clean(image.info[key])) for key in _PNG_KEYS if key in image.info),
        comment=clean(image.info.get("comment", "")),
        has_adobe_marker="adobe" in image.info,
        c2pa=_read_c2pa(data, media_type),
    )


def _xmp_packet(image: Image.Image) -> str:
    packet = image.info.get("xmp") or image.info.get("XML:com.adobe.xmp") or b""
    return packet.decode("utf-8", "replace") if isinstance(packet, bytes) else str(packet)


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return clean(found.group(1)) if found else ""


def _read_c2pa(data: bytes, media_type: str) -> ContentCredentials | None:
    if b"c2pa" not in data:
        return None
    import c2pa  # type: ignore[import-untyped] # noqa: PLC0415 - slow to load, rarely needed

    # Without these settings the library asks the network for manifests and revocations.
    offline = c2pa.Context.from_dict(
        {"verify": {"remote_manifest_fetch": False, "ocsp_fetch": False}}
    )
    try:
        reader = c2pa.Reader(media_type, io.BytesIO(data), context=offline)
        return _credentials(json.loads(reader.json()), str(reader.get_validation_state()))
    except c2pa.C2paError as error:
        if "ManifestNotFound" in str(error):
            return None
        return ContentCredentials(
            valid=False, signer_trusted=False, signer="", generator="", says_ai=False,
            says_edited=False, problem=clean(error),
        )  # fmt: skip


def _credentials(store: dict[str, object], state: str) -> ContentCredentials:
    text = json.dumps(store)
    manifests = store.get("manifests")
    active = manifests.get(store.get("active_manifest")) if isinstance(manifests, dict) else None
    manifest = active if isinstance(active, dict) else {}
    signature = manifest.get("signature_info")
    return ContentCredentials(
        valid=state in {"Valid", "Trusted"},
        signer_trusted=state == "Trusted",
        signer=clean(signature.get("issuer", "")) if isinstance(signature, dict) else "",
        generator=clean(manifest.get("claim_generator", "")),
        says_ai="trainedAlgorithmicMedia" in text,
        says_edited="c2pa.edited" in text or "compositeWithTrainedAlgorithmicMedia" in text,
    )
