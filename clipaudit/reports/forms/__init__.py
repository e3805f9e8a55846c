"""The forms that draw figures, one per module: `bars.py` has `draw_bars`."""
