"""Trace a number: the rows used, and the actions behind them."""
