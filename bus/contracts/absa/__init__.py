"""
The contracts of the aspect-sentiment pipeline, each module needing only those above it.

sentiment   aspects, sentiments, risks: what the stages say
memory      episodes, advisories and the slot they travel in
debate      turns, proposed edits, the judge's summary
params      how a run is configured
review      the review context, Stage 2 reviews, the log of what was applied
gate        outcomes of the override gate and of the decision to adopt
moderator   the moderator's input and output
requests    what each persona is asked
record      the output record
"""
