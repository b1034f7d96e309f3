"""Which subjects a filter selects."""


def matches(filter_subject: str, subject: str) -> bool:
    """NATS wildcards: `*` is one token, a final `>` is one or more."""
    wanted, given = filter_subject.split("."), subject.split(".")
    if wanted[-1] == ">":
        if len(given) < len(wanted):
            return False
        wanted = wanted[:-1]
        given = given[: len(wanted)]
    return len(wanted) == len(given) and all(
        want in {"*", got} for want, got in zip(wanted, given, strict=True)
    )
