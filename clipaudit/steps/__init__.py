"""Steps: the jobs of a workflow, with their inputs as content, their code, their environment."""
