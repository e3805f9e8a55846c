"""The forms that figures are drawn in, a module each: `bars.py` has `draw_bars`."""
