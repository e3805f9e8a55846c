"""The settings of a run: frozen Pydantic models over one YAML file."""
