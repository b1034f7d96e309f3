"""
Brains on a language model, behind any endpoint that speaks OpenAI's chat protocol.

    question   what a request becomes: a prompt, the form of the answer, and how it is read
    client     one model: asks, repairs, asks again, gives up with a reason; counts what it cost
    wire       the only module that knows the `openai` package
    brain      the panel's questions and the seats' models, put together

A panel adds a question (see `verdicts`); everything else is shared.
"""
