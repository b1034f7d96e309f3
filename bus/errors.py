"""
Every error Parley raises on purpose, and who has to react to it.

ParleyError
├── BadInput          the person who called: change the input or the configuration (exit code 2)
├── DecodeError       the reader: quarantine the message, go on with the next
│   └── NotInstalled  the reader: of a protocol that this process lacks; leave its debate to others
├── ProtocolError     the reader: the log holds a fact that is illegal where it stands
└── BusError
    ├── Unreachable   the person who deployed: no server answers there (exit code 3)
    ├── Unsuitable    the person who deployed: the server answers, but cannot serve us (exit code 3)
    │   └── Denied    the person who deployed: our account may not do this
    ├── Conflict      the writer: somebody else wrote first; read the log and decide again
    ├── Unavailable   the writer: still undecided after every retry; try again later
    │   └── Full      the person who deployed: the log has no room; the writer tries again later
    └── NotFound      the caller: the blob, message or debate is not there
        └── Gone      the caller: the debate was deleted

Errors of nats-py never leave the JetStream adapter, errors of openai never leave the model brain:
both are translated into leaves of this tree where they arise.
"""


class ParleyError(Exception):
    """Base of every error raised on purpose; its text is fit to be shown to a person."""


class BadInput(ParleyError):
    pass


class DecodeError(ParleyError):
    pass


class NotInstalled(DecodeError):
    pass


class ProtocolError(ParleyError):
    pass


class BusError(ParleyError):
    pass


class Unreachable(BusError):
    pass


class Unsuitable(BusError):
    pass


class Denied(Unsuitable):
    pass


class Conflict(BusError):
    pass


class Unavailable(BusError):
    pass


class Full(Unavailable):
    pass


class NotFound(BusError):
    pass


class Gone(NotFound):
    pass
