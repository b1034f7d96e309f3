"""Four forensic skills on one image: what each can measure, what it means, and how it argues."""
