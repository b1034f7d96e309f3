"""How skilled simulated personas are, as `lab` and `drill` are told."""

from typing import Annotated

import typer

Accuracy = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="How often an opening statement is right.")
]
Calibration = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="1: confidence is the chance of being right.")
]
Correlation = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="How often all err, or are right, together.")
]
Conformity = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="How readily they follow the majority.")
]
Insight = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="How often the wrong see that another is right.")
]
Debates = Annotated[int, typer.Option(min=10, max=100_000, help="Debates for each variant.")]
Seed = Annotated[int, typer.Option(min=0, help="Of everything that is drawn.")]
