"""Evaluation of models: classification, retrieval, selection, the DataComp suite."""
