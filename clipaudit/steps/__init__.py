"""Steps: jobs of a workflow, with their inputs by content, their code and their environment."""
