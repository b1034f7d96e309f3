"""The agent card: who answers here, how, and with which skills. A skill is a panel."""

from collections.abc import Iterable

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.constants import PROTOCOL_VERSION_1_0, TransportProtocol

from parley import __version__
from parley.console.inputs.panels import PanelInfo

TEXT, JSON = "text/plain", "application/json"
IMAGES = ("image/jpeg", "image/png", "image/webp")
BEARER = "bearer"
ABOUT = (
    "Panels of personas debate a question; every decision can be recomputed from the log. A message"
    ' is submitted to the panel that its metadata name: {"panel": …}.'
)
_MODES = {
    "text": (TEXT,),
    "question": (TEXT, JSON),
    "image": IMAGES,
    "both": (TEXT, *IMAGES),
}


def card_of(url: str, panels: Iterable[PanelInfo], *, tokens: bool, whole: bool) -> AgentCard:
    """Of the address `url`. Who has no token where one is needed sees how to come back, no skills."""
    card = AgentCard(
        name="Parley",
        description=ABOUT,
        version=__version__,
        supported_interfaces=[
            AgentInterface(
                url=url,
                protocol_binding=TransportProtocol.JSONRPC.value,
                protocol_version=PROTOCOL_VERSION_1_0,
            )
        ],
        capabilities=AgentCapabilities(
            streaming=True, push_notifications=True, extended_agent_card=tokens
        ),
        default_input_modes=[TEXT],
        default_output_modes=[JSON, TEXT],
        skills=[_skill(one) for one in panels] if whole else [],
    )
    if tokens:
        scheme = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))
        card.security_schemes[BEARER].CopyFrom(scheme)
        card.security_requirements.append(SecurityRequirement(schemes={BEARER: StringList()}))
    return card


def _skill(panel: PanelInfo) -> AgentSkill:
    who = ", ".join(one.role or one.name for one in panel.personas)
    return AgentSkill(
        id=panel.name,
        name=panel.title,
        description=f"{panel.title} Debated by: {who}.",
        tags=[panel.protocol, panel.input],
        examples=[panel.example] if panel.example else [],
        input_modes=list(_MODES.get(panel.input, (TEXT,))),
        output_modes=[JSON, TEXT],
    )
