"""
Brains on a language model, behind any endpoint that speaks OpenAI's chat protocol.

    question     what a request becomes: a prompt, the form of the answer, and how it is read
    client       one model: asks, repairs, asks again, gives up with a reason; counts what it cost
    completion   the only module that knows the `openai` package
    brain        the panel's questions and the seats' models, put together

Each protocol asks in its own way, registered as `parley.questions`: `verdicts`, `absa`,
`deliberation`. Beside each stand its forms: what the model fills in, and how that becomes a turn.
They share

    text_fields  what a field may hold, and when it says nothing
    quotes       where the words that a model quotes stand in the text
    ground       what an answer about a text is checked against
    untrusted    the fences around what others wrote
"""
